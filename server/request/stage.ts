/**
 * Stages: functions `next => request => response` between a query and its upstream, listed in
 * `server/pipeline/stages.ts`.
 */
import type { RequestTemp } from "../temp-storage/request-temp.ts";
import type { Target } from "../upstream/contract.ts";
import type { PermittedModel } from "./caller.ts";
import type { Deadline } from "./deadline.ts";
import type { Operation } from "./operation.ts";
import type { RequestContext, RequestReport } from "./request-report.ts";
import type { TraceHeaders } from "./request-trace.ts";

export interface StageRequest<Q> {
  readonly operation: Operation;
  readonly query: Q;
  readonly model: PermittedModel;
  /** The target, once a stage has selected it. */
  readonly target?: Target | undefined;
  /**
   * Fires at the request timeout, when the client disconnects, or when a stage cancels its part of the request. A
   * function, because a response from the cache needs no signal.
   */
  readonly signal: () => AbortSignal;
  /** Fires the signal. */
  readonly deadline: Deadline;
  /** Temp storage for large values, until the request ends. */
  readonly temp: RequestTemp;
  readonly context: RequestContext;
  readonly report: RequestReport;
  /** The trace context of one attempt, for its upstream requests. If absent, tracing is off. */
  readonly traceHeaders?: TraceHeaders | undefined;
  /** The attempt of the routing stage. If absent, the request was not routed. */
  readonly attempt?: RoutedAttempt | undefined;
  /** The parts of one request share it: a split embeddings request, or images that are requested one by one. */
  readonly parts?: RequestParts | undefined;
  /** The index of its first input in the request that was split. If absent, it was not split. */
  readonly firstInput?: number | undefined;
}

/** If one part was sent, the others are neither shed nor timed out in a queue: its work would be lost. */
interface RequestParts {
  hasStarted: boolean;
}

export interface QueueWait {
  /** The wait for the limits of the target. */
  ms: number;
  /** The attempt is still queued. */
  isWaiting: boolean;
  /** When the attempt left the queue. Milliseconds, monotonic. */
  admittedAt: number;
}

export interface RoutedAttempt {
  /**
   * How long the attempt waits in the gateway, in a micro-batch that is being filled or for the limits of its target:
   * that says nothing about the latency of the target. The attempts in one micro-batch share it.
   */
  queueWait: QueueWait;
  /** An upstream received the request in an earlier attempt. */
  readonly wasSent: boolean;
  /** Milliseconds, monotonic. */
  readonly startedAt: number;
  /** The attempt timeout. It changes while latencies become known. */
  timeoutMs(): number;
  /** Another attempt of the request was slow: one of its inputs may hang the upstream, so it joins no micro-batch. */
  readonly followsSlow: boolean;
  /** The request was sent in a micro-batch that may be billed, and is sent again within this attempt. */
  chargeEarlierMicroBatch(): void;
}

/** Whether work was already done for the request: a part of it, or the request itself, was sent to an upstream. */
export const hasStarted = <Q>({ parts, attempt }: StageRequest<Q>): boolean =>
  parts?.hasStarted === true || attempt?.wasSent === true;

export type Send<Q, A> = (request: StageRequest<Q>) => Promise<A>;
export type Stage<Q, A> = (next: Send<Q, A>) => Send<Q, A>;

/** Composes the stages in order. The last stage calls `last`. */
export const composeStages = <Q, A>(stages: readonly Stage<Q, A>[], last: Send<Q, A>): Send<Q, A> =>
  stages.reduceRight((next, stage) => stage(next), last);
