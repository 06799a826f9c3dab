/** Ledger rows for the bench. */
import type { LedgerRow } from "../server/storage/ports/ledger-row.ts";
import type { SqliteLedgerStore } from "../server/storage/sqlite/ledger-store.ts";

export const days = 30;
export const dayMs = 86_400_000;
export const end = Date.UTC(2026, 10, 15);
export const start = end - days * dayMs;
export const [keyCount, projectCount, modelCount] = [1000, 20, 8] as const;

const pick = (count: number): number => Math.floor(Math.random() * count);

export function makeRow(at: number): LedgerRow {
  const tokens = pick(500);
  const model = pick(modelCount);
  // A few keys make most of the requests.
  const key = Math.floor(keyCount * Math.random() ** 3);
  return {
    requestId: `req_${Bun.randomUUIDv7("hex", at).replaceAll("-", "")}`,
    at,
    endpoint: "embeddings",
    keyId: `key_${key}`,
    model: `model-${model}`,
    upstream: `upstream-${model % 4}`,
    targetModel: `target-${model}`,
    attempts: 1,
    status: 200,
    error: null,
    latencyMs: 5 + 200 * Math.random() ** 4,
    inputTokens: tokens,
    outputTokens: null,
    images: null,
    bytesIn: 300,
    bytesOut: 8000,
    cachedInputs: pick(2),
    upstreamTokens: tokens,
    cost: tokens * 2e-8,
    steps: null,
    project: `project-${key % projectCount}`,
    estimatedCost: null,
    inputs: 1,
    timeline: null,
    errorMessage: null,
    replica: null,
    endUser: null,
    tags: null,
    budgets: null,
  };
}

/** One row in fifty fails; a few rows have a rare key, error kind, latency or cost. */
function makeRowOf(at: number, index: number, rowCount: number): LedgerRow {
  const row = makeRow(at);
  if (index % (rowCount / 10) === 7) return { ...row, keyId: "key_rare" };
  const rare = index % (rowCount / 5);
  if (rare === 11) return { ...row, status: 400, error: "content_policy_violation" };
  if (rare === 13) return { ...row, latencyMs: 61_000 };
  if (rare === 17) return { ...row, cost: 1.5 };
  if (pick(50) > 0) return row;
  const isLimited = index % 7 === 0;
  return {
    ...row,
    status: isLimited ? 429 : 502,
    error: isLimited ? "rate_limited" : "upstream_error",
  };
}

/** Larger transactions than those of the gateway, so that the rows are stored sooner. */
const batchRows = 10_000;

/** Stores `rowCount` rows, spread evenly over the days. */
export function generateRows(store: Pick<SqliteLedgerStore, "write">, rowCount: number): void {
  for (let from = 0; from < rowCount; from += batchRows) {
    const length = Math.min(batchRows, rowCount - from);
    store.write(
      Array.from({ length }, (_, offset) => {
        const index = from + offset;
        const at = start + Math.floor((index / rowCount) * days * dayMs);
        return makeRowOf(at, index, rowCount);
      }),
    );
  }
}
