/** Requests: rows of the ledger, and the live tail. */
import type { Page } from "./page.ts";

/** One row of the ledger. It has no prompt, input, vector or image. */
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
  /** Embeddings: the number of inputs, and how many of them were not sent to an upstream. */
  readonly inputs: number | null;
  readonly cached_inputs: number | null;
  readonly cost: number | null;
  readonly estimated_cost: number | null;
}

export interface RequestPage extends Page<ShownRequest> {
  /**
   * Set if the search stopped before the page was full because it took too long: all matching requests since this time
   * are listed, and `next_cursor` continues.
   */
  readonly scanned_until: string | null;
}

/** One attempt at a target. Times are milliseconds since the arrival of the request. */
export interface RequestAttempt {
  /** Such as `openai/text-embedding-3-small`. */
  readonly target: string;
  readonly start_ms: number;
  readonly duration_ms: number;
  /** The part of the duration that it waited for the limits of the target. */
  readonly queued_ms: number;
  readonly is_hedge: boolean;
  /** An error kind, or `canceled`. `null`: it succeeded. */
  readonly error: string | null;
  /** The status of the upstream's error response. `null`: it succeeded, or there was no response. */
  readonly upstream_status: number | null;
  /** The vendor's code, and its id of the request, if its error response has them. */
  readonly upstream_code: string | null;
  readonly upstream_request_id: string | null;
}

/** A request with everything that is recorded about it. */
export interface RequestDetail extends ShownRequest {
  /** Embeddings: the tokens that the upstream counted for this request alone. */
  readonly upstream_tokens: number | null;
  /** The time in the queues of the gateway. */
  readonly queued_ms: number;
  /** The first attempts, in the order of their start. */
  readonly timeline: readonly RequestAttempt[];
  /** The number of targets that could serve the request. */
  readonly candidates: number | null;
  /** The routing policy that selected one of these targets. `null`: there was no choice, or it is not recorded. */
  readonly policy: string | null;
  /** The number of requests in the same micro-batch. */
  readonly batch_size: number | null;
  /** Parameters that the gateway applied itself, and parameters that it dropped. */
  readonly adapted: readonly string[];
  readonly dropped: readonly string[];
  /** Until when prompts, inputs, vectors and images are stored. `null`: they are not stored. */
  readonly content_expires_at: string | null;
  /** Skipped, failed and hedged targets with the reason, and steps of image requests, in order. */
  readonly steps: readonly string[];
}

/** What the client sent and received. Stored only for models with `storeContent`, until it expires. */
export interface RequestContent {
  readonly object: "request_content";
  readonly request_id: string;
  readonly expires_at: string;
  /** The parameters of the request, without uploaded files. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly files: readonly ContentFile[];
  readonly response: {
    readonly status: number;
    readonly content_type: string;
    /** As it was sent: JSON, or server-sent events. `null`: too large to be stored. */
    readonly body: string | null;
    /** `incomplete`: the client disconnected before the end. */
    readonly end: "complete" | "incomplete" | "too_large";
  };
}

/** An uploaded image. */
export interface ContentFile {
  readonly field: string;
  readonly filename: string;
  readonly type: string;
  /** In bytes. */
  readonly size: number;
  /** Base64. `null`: too large to be stored. */
  readonly data: string | null;
}

/** An event `requests` of the live tail. At most ten such events are sent per second. */
export interface LiveBatch {
  readonly data: readonly ShownRequest[];
  /** Matching requests of the same moment that are left out, because there are too many to read. */
  readonly skipped: number;
}

/** An event `dropped` of the live tail: the viewer was too slow for this many requests. */
export interface LiveDropped {
  readonly count: number;
}
