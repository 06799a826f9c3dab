/** One attempt: sends a request to one target and records the outcome in the target's health. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { QueueWait, Send, StageRequest } from "../request/stage.ts";
import { classifyOutcome, neutral } from "./health/classify-outcome.ts";
import { wasCutOff } from "./hedge.ts";
import type { Candidate } from "./policies/policy.ts";
import { isUnsent } from "./retry-policy.ts";
import type { ModelTargets } from "./target-registry.ts";

export interface AttemptOptions<Q, A> {
  readonly next: Send<Q, A>;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Wraps a streamed response so that `end` is called after its last event. Absent: responses are not streamed. */
  readonly watchEnd?: ((response: A, end: (failure?: unknown) => void) => A) | undefined;
  /** The size class of a request. Absent: latency says nothing about the target, as with images. */
  readonly sizeClassOf?: ((query: Q) => number) | undefined;
  /** Called when a target has a free slot, for the requests that wait for one. */
  readonly onSlotFreed: () => void;
  /** Handles a request that failed at the model's only target. */
  readonly failOver: (
    request: StageRequest<Q>,
    modelTargets: ModelTargets,
    error: unknown,
  ) => Promise<A>;
}

export interface Attempt<Q, A> {
  /** A measured attempt. `repeated`: the target has just failed this same request. */
  send(
    request: StageRequest<Q>,
    candidate: Candidate,
    modelTargets: ModelTargets,
    size: number,
    signal: AbortSignal,
    repeated: boolean,
  ): Promise<A>;
  /** Fast path for a model's only target while it is healthy: no clock is read and latency is not recorded. */
  sendUnmeasured(
    request: StageRequest<Q>,
    candidate: Candidate,
    modelTargets: ModelTargets,
  ): Promise<A>;
}

export function createAttempt<Q, A>(options: AttemptOptions<Q, A>): Attempt<Q, A> {
  const { next, clock, watchEnd, sizeClassOf, failOver, onSlotFreed } = options;
  let lastError: unknown;
  /** The requests of one batch share one error object; it counts as one failure. */
  const isNewError = (error: unknown): boolean => {
    if (error === lastError) return false;
    lastError = error;
    return true;
  };

  const send: Attempt<Q, A>["send"] = (
    request,
    { health, target },
    { peers },
    size,
    signal,
    repeated,
  ) => {
    const startedAt = clock();
    const probe = health.start(startedAt);
    // A target without limits has no queue.
    const queueWait = target.scopes && newQueueWait();
    const succeed = (): void => {
      const now = clock();
      request.record.routing.reachedUpstream = true;
      const tookMs = Math.max(0, now - startedAt - (queueWait?.ms ?? 0));
      health.recordSuccess(now, tookMs, size, probe, peers);
      if (health.concurrency.slots.waiting > 0) onSlotFreed();
    };
    const fail = (error: unknown): void => {
      const now = clock();
      if (!isUnsent(error)) request.record.routing.reachedUpstream = true;
      const end = {
        aborted: signal.aborted,
        cutOff: wasCutOff(signal),
        durationMs: now - startedAt - (queueWait?.ms ?? 0),
        // A single target has no latency baseline, so the full request timeout applies.
        timeoutMs: peers.length === 1 ? 0 : health.latency.timeoutMs(size, peers),
        abandonedMs: sizeClassOf
          ? health.latency.abandonedMs(size, peers)
          : Number.POSITIVE_INFINITY,
      };
      const outcome =
        timedOutInQueue(queueWait, error, now) || !isNewError(error)
          ? neutral
          : classifyOutcome(error, end);
      // A repeated failure may come from one bad input, which must not eject the target for all clients.
      const isOld = repeated && outcome.kind === "failure";
      health.recordEnd(now, isOld ? neutral : outcome, probe, peers);
      if (health.concurrency.slots.waiting > 0) onSlotFreed();
    };
    request.record.routing.startAttempt(target);
    return sendSafely(
      next,
      queueWait ? { ...request, target, signal, queueWait } : { ...request, target, signal },
    ).then(
      (response) => {
        if (watchEnd) {
          return watchEnd(response, (failure) =>
            failure === undefined ? succeed() : fail(failure),
          );
        }
        succeed();
        return response;
      },
      (error) => {
        fail(error);
        throw error;
      },
    );
  };

  const sendUnmeasured: Attempt<Q, A>["sendUnmeasured"] = (
    request,
    { health, target },
    modelTargets,
  ) => {
    request.record.routing.startAttempt(target);
    health.inFlight++;
    modelTargets.budgets.retries.uncounted++;
    const queueWait = target.scopes && newQueueWait();
    return sendSafely(
      next,
      queueWait ? { ...request, target, queueWait } : { ...request, target },
    ).then(
      (response) => {
        request.record.routing.reachedUpstream = true;
        health.recordUnmeasuredSuccess();
        if (health.concurrency.slots.waiting > 0) onSlotFreed();
        return response;
      },
      (error) => {
        if (!isUnsent(error)) request.record.routing.reachedUpstream = true;
        const now = clock();
        const outcome =
          timedOutInQueue(queueWait, error, now) || !isNewError(error)
            ? neutral
            : classifyOutcome(error, unmeasuredEnd);
        health.recordUnmeasuredEnd(now, outcome, [health]);
        if (health.concurrency.slots.waiting > 0) onSlotFreed();
        return failOver(request, modelTargets, error);
      },
    );
  };

  return { send, sendUnmeasured };
}

const newQueueWait = (): QueueWait => ({ ms: 0, isWaiting: false, admittedAt: 0 });

/**
 * Whether the gateway's own queue caused the timeout: the attempt never left it, or had less time at the target than in
 * the queue. That says nothing about the target.
 */
const timedOutInQueue = (wait: QueueWait | undefined, error: unknown, now: number): boolean =>
  wait !== undefined &&
  (wait.isWaiting ||
    (wait.ms > now - wait.admittedAt &&
      error instanceof GatewayError &&
      error.kind === "upstream_timeout"));

/** An unmeasured attempt on a model's only target: no duration, and no other target to fail over to. */
const unmeasuredEnd = {
  aborted: false,
  cutOff: false,
  durationMs: 0,
  timeoutMs: 0,
  abandonedMs: 0,
};

/** Turns a synchronous throw of the next stage into a rejection. */
function sendSafely<Q, A>(next: Send<Q, A>, request: StageRequest<Q>): Promise<A> {
  try {
    return next(request);
  } catch (error) {
    return Promise.reject(error);
  }
}
