/** One row of the ledger: what one request used and cost. */

export interface LedgerRow {
  readonly requestId: string;
  /** Unix milliseconds at which the request arrived. */
  readonly at: number;
  readonly endpoint: string;
  readonly keyId: string;
  readonly model: string | null;
  readonly upstream: string | null;
  readonly targetModel: string | null;
  readonly attempts: number;
  readonly status: number;
  readonly error: string | null;
  readonly latencyMs: number;
  /** null if the upstream did not report it: unknown is never 0. */
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly images: number | null;
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Embeddings: inputs that were served without an upstream request (cached, in flight or duplicate). */
  readonly cachedInputs: number | null;
  /** Embeddings: tokens that the upstream counted for this request. 0 without an upstream request. */
  readonly upstreamTokens: number | null;
  /** US dollars. null where no price is known. */
  readonly cost: number | null;
  /** The steps of routing and, for image requests, of post-processing, in order. */
  readonly steps: string | null;
  /** The project of the API key. */
  readonly project: string | null;
  /** US dollars that may have been billed and are not in `cost`. They count against budgets. */
  readonly estimatedCost: number | null;
  /** Embeddings: the number of inputs. */
  readonly inputs: number | null;
  /** Waits and attempts with their times, as compact JSON. null for a request without any, such as a cached one. */
  readonly timeline: string | null;
  /** The message of the error that the client got, shortened. null for a success, and if the client got no response. */
  readonly errorMessage: string | null;
  /** The process that served the request. null if it was killed meanwhile. */
  readonly replica: string | null;
  /** The end user that the client named, as a keyed hash unless the operator stores names. null: none. */
  readonly endUser: string | null;
  /** The tags of the request, separated by commas. null: none. */
  readonly tags: string | null;
  /** The end user and the tags whose budgets the request is charged to (`endUsersAndTagsText`). null: none. */
  readonly budgets: string | null;
}

/** The part of a ledger row that is known before the upstream request. */
export interface InFlightRequest
  extends Pick<
    LedgerRow,
    "requestId" | "at" | "endpoint" | "keyId" | "model" | "project" | "endUser" | "tags" | "budgets"
  > {
  /** US dollars. Undefined if no price is known. */
  readonly estimate?: number | undefined;
}
