/** The promises of the failover run: what was lost, doubled or exceeded, and how far the limits were used. */
import { until } from "../../test/until.ts";
import { type ClientResponse, type Clients, clientsPerBudgetKey } from "./clients.ts";
import {
  budgetKeys,
  budgets,
  concurrent,
  dollarsPerRequest,
  ratedKeys,
  replicaCount,
  requestsPerMinute,
} from "./keys.ts";
import type { SlotChange } from "./upstream.ts";

export interface Check {
  readonly text: string;
  readonly broken: readonly string[];
}

/** The time in which Redis was not available to all replicas. */
interface Outage {
  readonly from: number;
  readonly to: number;
}

type Query = <Row>(statement: string) => Promise<Row[]>;

/** The least use of a limit. */
const leastUsed = 0.95;
/** The clock of Redis has whole milliseconds, and may run faster than that of this process while it is adjusted. */
const clockTolerance = 1.0005;
/** Slots that a replica acquired without Redis are used until their requests end, and expire after this time. */
const slotsSettledMs = 4000;

const percent = (share: number): string => `${(share * 100).toFixed(1)} %`;
const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);

/** The cost of each request by its id. */
export type Costs = ReadonlyMap<string, number>;

/** Every response has one row with its status, and every row belongs to a response. */
export async function checkLedger(
  clients: Clients,
  query: Query,
): Promise<Check & { readonly costs: Costs }> {
  const { responses, failures } = clients;
  const count = async (): Promise<{ rows: number; counted: number }> => {
    const [found] = await query<{ rows: number; counted: number }>(
      `SELECT (SELECT count(*) FROM vexel.ledger)::int AS rows,
         (SELECT coalesce(sum(requests), 0) FROM vexel.usage_by_hour)::int AS counted`,
    );
    return found ?? { rows: 0, counted: 0 };
  };
  const broken =
    failures.length === 0 ? [] : [`${failures.length} failures, such as ${failures[0]}`];
  await until(async () => {
    const { rows, counted } = await count();
    return rows >= responses.length && counted >= rows;
  }).catch(() => broken.push("rows were not forwarded and rolled up within a minute"));
  const { rows, counted } = await count();
  const stored = await query<{ id: string; status: number; cost: number | null }>(
    "SELECT request_id AS id, status, cost FROM vexel.ledger",
  );
  const statuses = new Map(stored.map(({ id, status }) => [id, status]));
  const missing = responses.filter(({ requestId }) => !statuses.has(requestId));
  const different = responses.filter(
    ({ requestId, status }) => statuses.has(requestId) && statuses.get(requestId) !== status,
  );
  if (missing.length > 0) broken.push(`${missing.length} responses have no row`);
  if (different.length > 0) broken.push(`${different.length} rows have another status`);
  if (statuses.size !== rows) broken.push(`${rows - statuses.size} rows are doubled`);
  if (rows !== responses.length) broken.push(`${rows} rows for ${responses.length} responses`);
  if (counted !== rows) broken.push(`the sums count ${counted} of ${rows} rows`);
  return {
    text: `ledger: ${rows} rows for ${responses.length} responses, and sums of ${counted}`,
    broken,
    costs: new Map(stored.map(({ id, cost }) => [id, cost ?? 0])),
  };
}

interface RateUse {
  readonly admitted: number;
  /** The most that the limit allows between the first request and the last response. */
  readonly most: number;
  /** What it allows between the first response and the last request, while Redis was available. */
  readonly least: number;
}

/** Each bucket is full at first, and is refilled continuously. */
function rateUses(responses: readonly ClientResponse[], outageMs: number): RateUse[] {
  const byKey = Map.groupBy(responses, ({ key }) => key);
  const allowed = (ms: number): number =>
    Math.floor(requestsPerMinute + (requestsPerMinute * Math.max(0, ms)) / 60_000);
  return ratedKeys.map((key) => {
    const own = byKey.get(key) ?? [];
    const [sent, ended] = [own.map(({ sentAt }) => sentAt), own.map(({ endedAt }) => endedAt)];
    if (own.length === 0) return { admitted: 0, most: 0, least: 0 };
    return {
      admitted: own.filter(({ status }) => status === 200).length,
      most: allowed((Math.max(...ended) - Math.min(...sent)) * clockTolerance + 1),
      least: allowed(Math.max(...sent) - Math.min(...ended) - outageMs),
    };
  });
}

function checkRate(
  name: string,
  uses: readonly RateUse[],
  exceededBy: number,
  isUseChecked: boolean,
): Check {
  const over = uses.map((use) => use.admitted - use.most);
  const admitted = sum(uses.map((use) => use.admitted));
  const used = Math.min(1, admitted / sum(uses.map(({ least }) => least)));
  const tooMany = over.filter((count) => count > exceededBy).length;
  return {
    text: `rate limits of ${uses.length} keys, ${name}: ${admitted} requests admitted${isUseChecked ? `, ${percent(used)} of what they allow` : ""}; ${over.filter((count) => count > 0).length} limits exceeded, by at most ${Math.max(0, ...over)}`,
    broken: [
      ...(tooMany > 0 ? [`${tooMany} limits were exceeded by more than ${exceededBy}`] : []),
      ...(isUseChecked && used < leastUsed ? [`only ${percent(used)} was used`] : []),
    ],
  };
}

/**
 * Exact while Redis is available. While it is not, each replica admits its share of what it knows to remain, at least
 * one request.
 */
export function checkRates(responses: readonly ClientResponse[], { from, to }: Outage): Check[] {
  const before = responses.filter(({ endedAt }) => endedAt < from);
  const after = responses.filter(({ sentAt }) => sentAt > to);
  const shares = replicaCount * Math.max(1, Math.floor(requestsPerMinute / replicaCount));
  return [
    checkRate("before the failover of Redis", rateUses(before, 0), 0, true),
    checkRate("after it", rateUses(after, 0), 0, false),
    checkRate("in total", rateUses(responses, to - from), shares, true),
  ];
}

/** Concurrency limits are exact except for the outage and the requests that were admitted in it. */
export function checkSlots(changes: readonly SlotChange[], { from, to }: Outage): Check {
  const inOutage = ({ at }: SlotChange): boolean => at >= from && at <= to + slotsSettledMs;
  const exceeded = changes.filter((change) => change.inFlight > concurrent && !inOutage(change));
  const last = new Map<string, SlotChange>();
  let [usedMs, measuredMs] = [0, 0];
  for (const change of changes) {
    const before = last.get(change.key);
    last.set(change.key, change);
    if (!before || inOutage(before) || inOutage(change)) continue;
    usedMs += Math.min(concurrent, before.inFlight) * (change.at - before.at);
    measuredMs += concurrent * (change.at - before.at);
  }
  const used = usedMs / measuredMs;
  return {
    text: `concurrency limits of ${last.size} keys: ${percent(used)} used, exceeded ${exceeded.length} times`,
    broken: [
      ...exceeded
        .slice(0, 1)
        .map(({ key, inFlight }) => `${key} had ${inFlight} requests in flight`),
      ...(used < leastUsed ? [`only ${percent(used)} was used`] : []),
    ],
  };
}

/**
 * A budget that refuses requests is used up. It is exceeded at most by the requests that were in flight when the primary
 * of Redis failed, because their costs may not have been replicated.
 */
export function checkBudgets(responses: readonly ClientResponse[], costs: Costs): Check {
  const broken: string[] = [];
  const uses = budgetKeys.map((key, at) => {
    const own = responses.filter((response) => response.key === key);
    const most = budgets[at] ?? 0;
    const spent = sum(own.map(({ requestId }) => costs.get(requestId) ?? 0)) / dollarsPerRequest;
    const isRefused = own.some(({ status }) => status === 429);
    const use = `${spent.toFixed(0)} of ${most} requests`;
    if (Math.round(spent) > most + clientsPerBudgetKey) broken.push(`${key.name}: ${use}`);
    if (isRefused && spent < most * leastUsed) broken.push(`${key.name} refused after ${use}`);
    return use;
  });
  return { text: `budgets: ${uses.join(", ")}`, broken };
}
