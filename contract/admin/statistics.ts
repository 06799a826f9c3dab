/** Statistics of the gateway's own parts, since its start. */
export interface Statistics {
  readonly object: "statistics";
  readonly started_at: string;
  readonly requests_in_flight: number;
  readonly requests_queued: number;
  /** The embedding cache. */
  readonly cache: {
    readonly enabled: boolean;
    readonly entries: number;
    readonly bytes: number;
    readonly max_bytes: number;
  };
  /** Micro-batching of embeddings requests. */
  readonly batching: {
    readonly enabled: boolean;
    readonly batches: number;
    readonly batched_requests: number;
  };
  readonly live_viewers: number;
}
