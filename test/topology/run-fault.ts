/** Injects one fault under load, and checks during and after it that everything held. */
import {
  checkLedger,
  checkLimit,
  createKey,
  type LimitCheck,
  paidTwice,
  rateLimit,
  revocationMs,
} from "./checks.ts";
import type { Fault } from "./faults.ts";
import type { ClientError, Load } from "./load.ts";
import type { Topology } from "./topology.ts";

export interface Pace {
  /** How many requests the clients send while a fault lasts, and for how long it lasts, at least. */
  readonly requests: number;
  readonly ms: number;
  /** The longest time for which a replica accepts a revoked key. */
  readonly maxRevocationMs: number;
}

interface FaultReport {
  readonly fault: string;
  readonly seconds: number;
  readonly responses: number;
  /** Broken promises. Empty: everything held. */
  readonly broken: readonly string[];
  /** Of the requests of the limit check. */
  readonly admitted: number;
  readonly failed: number;
  readonly revocationMs: number;
  readonly note: string | undefined;
}

export async function runFault(
  topology: Topology,
  load: Load,
  fault: Fault,
  pace: Pace,
): Promise<FaultReport> {
  const broken: string[] = [];
  const from = performance.now();
  const before = load.completed;
  const { key } = await createKey(topology, { limits: { requestsPerMinute: rateLimit } });
  if (fault.isRedisAffected) await load.stopDuplicates();
  load.fault = fault.name;
  let limit: LimitCheck | undefined;
  const note = await fault.run({
    topology,
    load,
    wait: () => load.progress(pace.requests, pace.ms),
    outage: () => load.progress(0, pace.ms),
    maxRevocationMs: pace.maxRevocationMs,
    checkLimit: async () => {
      limit = await checkLimit(load, key, fault.admitted?.least);
    },
  });
  await topology.ready();
  load.sendsDuplicates = true;
  const revokedMs = await revocationMs(topology);
  await load.progress(pace.requests);
  const ledger = await checkLedger(topology, load);
  const report = (what: string, found: readonly unknown[]): void => {
    if (found.length > 0) broken.push(`${what}: ${found.length}, such as ${found[0]}`);
  };
  report("completed requests that are missing in the ledger", ledger.missing);
  report("requests that are in the ledger twice", ledger.double);
  if (ledger.rows !== ledger.counted)
    broken.push(`the roll-ups count ${ledger.counted} of ${ledger.rows} rows`);
  if (revokedMs > pace.maxRevocationMs)
    broken.push(`a revoked key was accepted for ${Math.round(revokedMs)} ms`);
  report("images that were paid for twice", paidTwice(topology));
  report("wrong responses", load.wrong);
  const { least, most } = fault.admitted ?? { least: 0, most: Number.POSITIVE_INFINITY };
  if (limit && (limit.admitted < least - limit.failed || limit.admitted > most + limit.refilled))
    broken.push(
      `the limit admitted ${limit.admitted} requests, and ${limit.refilled} were refilled`,
    );
  return {
    fault: fault.name,
    seconds: (performance.now() - from) / 1000,
    responses: load.completed - before,
    broken,
    admitted: limit?.admitted ?? 0,
    failed: limit?.failed ?? 0,
    revocationMs: revokedMs,
    note,
  };
}

/** Errors of clients by fault, each with its explanation, and the errors without one. */
export function explain(
  faults: readonly Fault[],
  errors: readonly ClientError[],
): { readonly explained: ReadonlyMap<string, number>; readonly unexplained: readonly string[] } {
  const explained = new Map<string, number>();
  const unexplained: string[] = [];
  for (const { faults: during, error, kind, detail = "" } of errors) {
    // The fault during which a request failed is more likely than the one during which it was sent.
    const fault = during
      .toReversed()
      .flatMap((during) => faults.filter(({ name }) => name === during))
      .find(({ explains }) => error in explains);
    if (!fault) {
      unexplained.push(`${kind} ${error} ${detail} during "${during.join('" or "')}"`);
      continue;
    }
    const text = `${fault.name}: ${error}, ${fault.explains[error]}`;
    explained.set(text, (explained.get(text) ?? 0) + 1);
  }
  return { explained, unexplained };
}
