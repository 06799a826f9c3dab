/**
 * The law of admission: what is admitted exceeds no limit by more than the bound of each fault, and what fits is not
 * refused for longer than two seconds.
 */
import { chargeOf, type Owner, ownerName, periodOf, type Row } from "./account.ts";
import type { Outcome } from "./clients.ts";
import { isEmbeddings, maxCostOf, type Nano, type Period } from "./program.ts";
import { dollars, sum, type Violation } from "./violation.ts";

/** A time in which Redis was away or lost data, or a replica was killed. Unix milliseconds by the gateways' clock. */
export interface FaultTime {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly weakensBudgets: boolean;
}

export interface AdmissionInput {
  readonly owners: readonly Owner[];
  readonly rows: readonly Row[];
  readonly outcomes: ReadonlyMap<number, Outcome>;
  readonly faults: readonly FaultTime[];
}

/** What an owner spends in about two seconds may exceed its budget; a request runs before its row has its time. */
const [beforeMs, afterMs] = [1000, 2500];
const leaseMs = 3000;
/** The reservations of a process that was killed end with their lease, and shares with the next contact. */
const settledMs = 4000;

export function checkAdmission({ owners, rows, outcomes, faults }: AdmissionInput): Violation[] {
  const violations: Violation[] = [];
  const isWeak = ({ at }: Row): boolean =>
    faults.some(
      ({ from, to, weakensBudgets }) =>
        weakensBudgets &&
        [from, to].some((moment) => at >= moment - beforeMs && at <= moment + afterMs),
    );
  /** What was reserved for the row: retries, hedged requests and unknown prices are not. */
  const reservedOf = (row: Row): Nano => {
    const outcome = row.op === undefined ? undefined : outcomes.get(row.op);
    const most = outcome && maxCostOf(outcome.op);
    const charge = chargeOf(row);
    return most === undefined ? 0 : Math.min(charge, most);
  };
  /** The process ended while it ran, so its reservation ended before its cost was known. */
  const isLost = ({ at, latencyMs, op }: Row): boolean => {
    // A replica without time to run loses its leases.
    if (latencyMs > leaseMs) return true;
    const failure = op === undefined ? undefined : outcomes.get(op)?.failure;
    return (
      failure !== undefined ||
      faults.some(
        ({ name, from, to }) => name.startsWith("kill") && at <= to && at + latencyMs >= from,
      )
    );
  };
  for (const owner of owners)
    for (const [period, limit] of Object.entries(owner.limits) as [Period, Nano][])
      for (const [name, own] of Map.groupBy(rows.filter(owner.owns), ({ at }) =>
        periodOf(period, at),
      )) {
        const admitted = sum(own.map(reservedOf));
        const largest = Math.max(0, ...own.map(reservedOf));
        const weak = sum(own.filter((row) => isWeak(row) || isLost(row)).map(reservedOf));
        const before = own.filter(({ at }) => at <= (owner.loweredAt ?? Number.NEGATIVE_INFINITY));
        const most = Math.max(limit, sum(before.map(reservedOf))) + largest + weak;
        if (admitted > most)
          violations.push({
            law: "admission: limit exceeded",
            text: `${ownerName(owner)}, ${period} ${name}: ${dollars(admitted)} were admitted of a limit of ${dollars(limit)}${owner.loweredAt === undefined ? "" : ", which was lowered"}; one request (${dollars(largest)}) and the faults (${dollars(weak)}) allow ${dollars(most)}`,
          });
      }
  violations.push(...checkRefusals({ owners, rows, outcomes, faults }));
  return violations;
}

/**
 * Beside faults, a refusal for a budget is right only if the request could have exceeded one: of all requests of the owner that were
 * sent before its end, each counts with what it cost or, if it was not over for two seconds, with what it may cost.
 */
function checkRefusals({ owners, rows, outcomes, faults }: AdmissionInput): Violation[] {
  const violations: Violation[] = [];
  const rowsOf = Map.groupBy(rows, ({ op }) => op);
  for (const refused of outcomes.values()) {
    const { op, sentAt, endedAt, errorCode, status } = refused;
    if (status !== 429 || errorCode !== "insufficient_quota" || !isEmbeddings(op)) continue;
    const most = maxCostOf(op);
    const [row] = rowsOf.get(op.id) ?? [];
    if (most === undefined || !row) continue;
    const charged = owners.filter((owner) => owner.owns(row));
    if (faults.some(({ from, to }) => row.at >= from && row.at <= to + settledMs)) continue;
    const fits = charged.every((owner) =>
      (Object.entries(owner.limits) as [Period, Nano][]).every(([period, limit]) => {
        const used = [...outcomes.values()]
          .filter((other) => other !== refused && other.sentAt <= endedAt)
          .map((other): Nano => {
            const own = (rowsOf.get(other.op.id) ?? []).filter(
              (each) => owner.owns(each) && periodOf(period, each.at) === periodOf(period, row.at),
            );
            const cost = sum(own.map(chargeOf));
            const isOver =
              other.endedAt > 0 &&
              other.endedAt < sentAt - 2000 &&
              !other.op.kind.includes("batch");
            if (isOver) return cost;
            // It may belong to the owner, and has no row.
            const isOwn = own.length > 0 || mayOwn(owner, other);
            return isOwn ? Math.max(cost, maxCostOf(other.op) ?? Number.POSITIVE_INFINITY) : 0;
          });
        return sum(used) + most < limit;
      }),
    );
    if (fits)
      violations.push({
        law: "admission: refused although it fits",
        text: `embeddings ${op.id} of ${op.key} (at most ${dollars(most)}) was refused ${refused.isTemporary ? "for two seconds" : "for good"}, although all requests of ${charged.map(ownerName).join(", ")} leave room for it${faults.map(({ name, to }) => `, ${row.at - to} ms after the end of: ${name}`).join("")}`,
      });
  }
  return violations;
}

function mayOwn({ scope, name, project }: Owner, { op }: Outcome): boolean {
  if (scope === "key") return op.key === name;
  const ofProject = op.key.startsWith(`${project ?? name}-`);
  if (scope === "project") return ofProject;
  return ofProject && (scope === "end_user" ? op.endUser === name : `team:${op.team}` === name);
}
