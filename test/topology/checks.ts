/** What must hold during and after every fault. */
import { RateLimitError } from "openai";
import { testKey } from "../harness.ts";
import { embeddingModel } from "../http/gateway-fixture.ts";
import { until } from "../until.ts";
import type { Load } from "./load.ts";
import type { Replica, Topology } from "./topology.ts";

/** Requests per minute of a key with a limit. */
export const rateLimit = 60;

export interface LimitCheck {
  readonly admitted: number;
  /** Requests with neither a response nor a refusal, because of the fault. */
  readonly failed: number;
  /** Requests that the limit has allowed in addition, while the requests were sent. */
  readonly refilled: number;
}

/** After this time a leased part of a limit that no replica needs is back in the pool. */
const leaseMs = 5000;

/**
 * Sends twice as many requests as the key may send, at once. If fewer than `least` are admitted, because replicas have
 * leased parts that they do not need, it sends more until these parts are back.
 */
export async function checkLimit(load: Load, key: string, least = 0): Promise<LimitCheck> {
  const sdk = load.client(key, 0);
  const from = performance.now();
  const send = async (at: number): Promise<"admitted" | "refused" | "failed"> => {
    try {
      const input = `text ${at} of ${key}`;
      await sdk.embeddings.create({ model: embeddingModel, input, dimensions: 8 });
      return "admitted";
    } catch (error) {
      return error instanceof RateLimitError ? "refused" : "failed";
    }
  };
  const results = await Promise.all(Array.from({ length: 2 * rateLimit }, (_, at) => send(at)));
  const count = (wanted: string): number => results.filter((result) => result === wanted).length;
  while (count("admitted") + count("failed") < least && performance.now() < from + leaseMs) {
    await Bun.sleep(100);
    results.push(await send(results.length));
  }
  return {
    admitted: count("admitted"),
    failed: count("failed"),
    refilled: Math.ceil(((performance.now() - from) * rateLimit) / 60_000),
  };
}

export const accepts = async ({ url }: Replica, key: string): Promise<boolean> =>
  (await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).ok;

/** Resolves when all replicas accept the key. `url`: of the replica that creates it. */
export async function createKey(
  { admin, replicas }: Topology,
  settings: Readonly<Record<string, unknown>> = {},
  url?: string,
): Promise<{ id: string; key: string }> {
  const created = await admin("POST", "/keys", { name: crypto.randomUUID(), ...settings }, url);
  if (!created.ok) throw new Error(`the key was not created: ${await created.text()}`);
  const { id, key } = (await created.json()) as { id: string; key: string };
  for (const replica of replicas) await until(() => accepts(replica, key));
  return { id, key };
}

/** The time from the revocation of a key until the last replica refuses it. */
export async function revocationMs(topology: Topology): Promise<number> {
  const { admin, replicas } = topology;
  const { id, key } = await createKey(topology);
  const revoked = await admin("DELETE", `/keys/${id}`);
  if (!revoked.ok) throw new Error(`the revocation failed with ${revoked.status}`);
  const from = performance.now();
  for (const replica of replicas) await until(async () => !(await accepts(replica, key)));
  return performance.now() - from;
}

interface LedgerCheck {
  /** Completed requests without a row, and requests with two. */
  readonly missing: readonly string[];
  readonly double: readonly string[];
  readonly rows: number;
  /** The sum of the roll-ups and of rows that came during the check, which must equal `rows`. */
  readonly counted: number;
}

/** The longest time in which rows are forwarded, and in which they are rolled up. */
const maxWaitMs = 30_000;

/** Waits until the replicas have forwarded the rows of completed requests and rolled them up. */
export async function checkLedger(topology: Topology, load: Load): Promise<LedgerCheck> {
  const { query } = topology;
  const requestIds = [...load.requestIds];
  let missing = requestIds;
  let ids: string[] = [];
  const end = performance.now() + maxWaitMs;
  for (;;) {
    const rows = await query<{ id: string }>("SELECT request_id AS id FROM vexel.ledger");
    ids = rows.map(({ id }) => id);
    const found = new Set(ids);
    missing = requestIds.filter((id) => !found.has(id));
    if (missing.length === 0 || performance.now() > end) break;
    await Bun.sleep(100);
  }
  return { missing, double: duplicatesIn(ids), ...(await countRollUps(topology)) };
}

/** Clients send requests meanwhile, so there may always be batches. Those that exist now must be rolled up. */
async function countRollUps({ query }: Topology): Promise<Pick<LedgerCheck, "rows" | "counted">> {
  const [newest] = await query<{ id: number }>(
    "SELECT coalesce(max(id), 0)::int AS id FROM vexel.ledger_batches",
  );
  const end = performance.now() + maxWaitMs;
  for (;;) {
    // One statement reads one snapshot, in which a row is either in the sums or in a batch.
    const [sums] = await query<{ rows: number; counted: number; waiting: number }>(
      `SELECT (SELECT count(*) FROM vexel.ledger)::int AS rows,
         ((SELECT sum(requests) FROM vexel.usage_by_hour) +
           (SELECT count(*) FROM vexel.ledger JOIN vexel.ledger_batches AS later
             ON later.id = batch AND later.id > ${newest?.id ?? 0}))::int AS counted,
         (SELECT count(*) FROM vexel.ledger_batches WHERE id <= ${newest?.id ?? 0})::int AS waiting`,
    );
    if (!sums) throw new Error("the sums of the ledger were not read");
    if (sums.waiting === 0 || performance.now() > end) return sums;
    await Bun.sleep(100);
  }
}

function duplicatesIn(ids: readonly string[]): string[] {
  const seen = new Set<string>();
  return ids.filter((id) => {
    const isSeen = seen.has(id);
    seen.add(id);
    return isSeen;
  });
}

/** Prompts for which the upstream has generated, and billed, more than one image. */
export function paidTwice({ fake }: Topology): string[] {
  const prompts = fake.requests
    .filter(({ path }) => path === "/v1/images/generations")
    .map(({ json }) => (json as { prompt?: string } | undefined)?.prompt ?? "unread");
  return duplicatesIn(prompts);
}

/** The models of the test's key on one replica. */
export async function listModels(url: string): Promise<{ data: { id: string }[] }> {
  const response = await fetch(`${url}/v1/models`, {
    headers: { authorization: `Bearer ${testKey}` },
  });
  return (await response.json()) as { data: { id: string }[] };
}
