/** The sections of a request record: attempts, inputs, images, cost and outcome. */
import type { Target } from "../upstream/contract.ts";
import type { Reservation } from "./reservation.ts";
import type { TimedAttempt } from "./timeline.ts";

/** The attempts at targets. */
export interface RoutingRecord {
  /** The target of the last attempt, or the one whose response or error was returned. */
  target: Target | undefined;
  /** The target before the last attempt. */
  previousTarget: Target | undefined;
  attempts: number;
  /**
   * Requests that entered the routing stage: one, or one for each sub-request of a split request. Not counted: retries,
   * hedged requests, and the fan-out of an image request.
   */
  routedRequests: number;
  /** An attempt has ended whose upstream received the request, or one of its sub-requests. */
  reachedUpstream: boolean;
  /** Attempts were made at different targets. */
  hasSeveralTargets: boolean;
  /** The number of requests in the batch, if this request waited to be batched. */
  batchSize: number | undefined;
  /** The first attempts, in start order. */
  timedAttempts: TimedAttempt[] | undefined;
}

/** The inputs of an embeddings request. */
export interface EmbeddingsRecord {
  /** 0 for other requests. */
  inputs: number;
  /** The pixels of its images. Undefined before they are loaded. */
  inputPixels: number | undefined;
  /** The tokens that the estimate of its images has more, since they are loaded. */
  moreTokens: number;
  /** Inputs that were sent to an upstream. The others were cached, in flight for another request, or duplicates. */
  sentInputs: number;
  /** Inputs that an upstream has served. */
  servedInputs: number;
  /**
   * The token count of the upstream requests that were served. Undefined if it is unknown, because an upstream reported
   * none.
   */
  servedTokens: number | undefined;
  /** The sum of the costs that are known, in US dollars. */
  servedCost: number;
  /** The tokens of the upstream requests without a known cost. Undefined if the count is unknown. */
  unpricedTokens: number | undefined;
  /** Inputs of sub-requests that were canceled because another one failed or the request was aborted. May be billed. */
  canceledInputs: number;
  /** The request failed, and is charged for the part that was served. */
  isPartCharged: boolean;
}

/** The images of an image request. */
export interface ImagesRecord {
  /** How many images the client requested. */
  requested: number;
  /** Images in the response: sent to the client, or stored for it. Undefined if there is no image response. */
  delivered: number | undefined;
  /** Images that may have been billed, but for which no response reports a cost. */
  possiblyBilled: number;
}

/** Costs in US dollars. */
export interface CostRecord {
  /** Undefined if the cost is unknown. */
  actual: number | undefined;
  /** A stage has reported a cost. */
  isReported: boolean;
  /**
   * The cost that may have been billed: charged to budgets in addition to `actual`, or instead of it if that is
   * unknown.
   */
  estimated: number | undefined;
  /** The budget reservation, until the request ends. Undefined if no budget applies. */
  reservation: Reservation | undefined;
  /** The request was sent again, to the same target or another, after an error that may have been billed. */
  earlierAttemptMayBeBilled: boolean;
}

/** How the request ended. */
export interface OutcomeRecord {
  status: number;
  /** The key of the error in the error table. */
  error: string | undefined;
  /** The message of the error that the client got, shortened. */
  errorMessage: string | null;
  latencyMs: number;
  bytesIn: number;
  bytesOut: number;
}
