/** Requests: rows of the ledger. */
/** One row of the ledger. */
export interface ShownRequest {
  readonly object: "request";
  readonly id: string;
  readonly at: string;
  readonly endpoint: string;
  readonly key_id: string;
  readonly key_name: string | null;
  readonly project: string | null;
  readonly model: string | null;
  readonly upstream: string | null;
  readonly target_model: string | null;
  readonly attempts: number;
  readonly status: number;
  readonly error: string | null;
  readonly latency_ms: number;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
  readonly images: number | null;
  readonly bytes_in: number;
  readonly bytes_out: number;
  readonly cached_inputs: number | null;
  readonly cost: number | null;
  readonly estimated_cost: number | null;
  readonly steps: readonly string[];
}
