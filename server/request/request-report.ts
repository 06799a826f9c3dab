/**
 * What stages know and learn about a request. The pipeline owns the request record: stages read the request's context,
 * return their response, and report the facts that must be known even if the request fails. They never read a report.
 */
import type { Step } from "../../contract/request-steps.ts";
import type { Target } from "../upstream/contract.ts";
import type { Caller } from "./caller.ts";
import type { AttemptCharge } from "./charge.ts";
import type { CachePolicy, Priority, RequestUsage } from "./http-types.ts";
import type { JobLineContext } from "./job-line.ts";
import type { RequestTrace } from "./request-trace.ts";
import type { AttemptStart, TimedAttempt } from "./timeline.ts";

/** What is known about a request before its first stage. */
export interface RequestContext {
  readonly requestId: string;
  readonly caller: Caller | undefined;
  /** As in the ledger row. */
  readonly endUser: string | null;
  readonly tags: string | null;
  readonly priority: Priority;
  readonly cachePolicy: CachePolicy;
  /** Undefined if tracing is off. */
  readonly trace: RequestTrace | undefined;
  /** Undefined if the request is not a line of a job. */
  readonly line: JobLineContext | undefined;
}

/** Every fact is added; none replaces or removes another. */
export interface RequestReport {
  /** For the ledger row: what happened to an image request, or why a target was skipped, retried or hedged. */
  addStep(...step: Step): void;
  /** The request waited in a queue of the gateway, before an attempt. */
  addQueueTime(ms: number): void;
  /** Undefined if the timeline is full. */
  startAttempt(start: AttemptStart): TimedAttempt | undefined;
  /** The last attempt ended before anything was sent to its target, so it does not count. */
  attemptNotSent(): void;
  /** An attempt has ended whose upstream received the request, or one of its sub-requests. */
  reachedUpstream(): void;
  /** The target whose response or error ends the request, or one of its sub-requests. */
  addSettled(target: Target): void;
  /** Several requests were sent as one. `size`: how many. */
  addMicroBatch(size: number): void;
  /** An upstream bills an attempt, or may bill it. */
  addCharge(charge: AttemptCharge): void;

  /**
   * Embeddings: the images of the request are loaded. `pixels`: of all of them. `moreTokens`: how many tokens their
   * estimate has more than before they were loaded.
   */
  addLoadedImages(pixels: number, moreTokens: number): void;
  /** Embeddings: inputs that are sent to an upstream. */
  addSentInputs(inputs: number): void;
  /** Embeddings: an upstream request was served. Undefined if the upstream did not report its tokens. */
  addServed(inputs: number, tokens: number | undefined): void;

  /** Images: the usage of generated images, whether or not they are delivered. */
  addUsage(usage: RequestUsage): void;
}
