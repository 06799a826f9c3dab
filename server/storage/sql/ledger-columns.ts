/** The columns of the table `ledger`, by the names of their values. */
import { rowNames } from "../ledger-row-values.ts";
import type { LedgerRow } from "../ports/ledger-row.ts";

const columns = {
  requestId: "request_id",
  at: "at",
  endpoint: "endpoint",
  keyId: "key_id",
  model: "model",
  upstream: "upstream",
  targetModel: "target_model",
  attempts: "attempts",
  status: "status",
  error: "error",
  latencyMs: "latency_ms",
  inputTokens: "input_tokens",
  outputTokens: "output_tokens",
  images: "images",
  bytesIn: "bytes_in",
  bytesOut: "bytes_out",
  cachedInputs: "cached_inputs",
  upstreamTokens: "upstream_tokens",
  cost: "cost",
  steps: "steps",
  project: "project",
  estimatedCost: "estimated_cost",
  inputs: "inputs",
  timeline: "timeline",
} as const satisfies Record<keyof LedgerRow, string>;

/** In the order of the values of a row. */
export const ledgerColumns: readonly string[] = rowNames.map((name) => columns[name]);

/** For SELECT: every column under the name of its value. */
export const listedColumns = rowNames.map((name) => `${columns[name]} AS "${name}"`).join(", ");
