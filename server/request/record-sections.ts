/** The sections of a request record: attempts, inputs, images and outcome. */
import type { Target } from "../upstream/contract.ts";
import type { TimedAttempt } from "./timeline.ts";

/** The attempts at targets. */
export interface RoutingRecord {
  /** The target of the last attempt, or the one whose response or error was returned. */
  target: Target | undefined;
  /** The target before the last attempt. */
  previousTarget: Target | undefined;
  attempts: number;
  /** An attempt has ended whose upstream received the request, or one of its sub-requests. */
  reachedUpstream: boolean;
  /** The number of requests in the micro-batch, if this request waited to be batched. */
  microBatchSize: number | undefined;
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
}

/** The images of an image request. */
export interface ImagesRecord {
  /** How many images the client requested. */
  requested: number;
  /** Images in the response: sent to the client, or stored for it. Undefined if there is no image response. */
  delivered: number | undefined;
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
