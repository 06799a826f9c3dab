/** A ledger row with every required value. */
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";

let rowCount = 0;

export const ledgerRow = (at: number, more: Partial<LedgerRow> = {}): LedgerRow => ({
  requestId: `req_${String(at).padStart(16, "0")}_${++rowCount}`,
  at,
  endpoint: "embeddings",
  keyId: "file:ci",
  model: null,
  upstream: null,
  targetModel: null,
  attempts: 1,
  status: 200,
  error: null,
  latencyMs: 1,
  inputTokens: null,
  outputTokens: null,
  images: null,
  bytesIn: 0,
  bytesOut: 0,
  cachedInputs: null,
  upstreamTokens: null,
  cost: null,
  steps: null,
  project: null,
  estimatedCost: null,
  inputs: null,
  timeline: null,
  errorMessage: null,
  replica: null,
  endUser: null,
  tags: null,
  budgets: null,
  ...more,
});
