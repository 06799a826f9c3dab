/** One attempt: sends a request to one target and records the outcome in the target's health. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { QueueWait, Send, StageRequest } from "../request/stage.ts";
import { canceled, type TimedAttempt } from "../request/timeline.ts";
import { classifyOutcome, neutral } from "./health/classify-outcome.ts";
import type { TargetHealth } from "./health/target-health.ts";
import { wasCutOff } from "./hedge.ts";
import type { Candidate } from "./policies/policy.ts";
import { errorCodeOf, isUnsent } from "./retry-policy.ts";

export interface AttemptOptions<Q, A> {
  readonly next: Send<Q, A>;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Wraps a streamed response so that `end` is called after its last event. Absent: responses are not streamed. */
  readonly watchEnd?: ((response: A, end: (failure?: unknown) => void) => A) | undefined;
  /** The size class of a request. Absent: latency says nothing about the target, as with images. */
  readonly sizeClassOf?: ((query: Q) => number) | undefined;
  /** Called when a slot of a target becomes free, so that queued requests are admitted. */
  readonly onSlotFreed: () => void;
}

export interface AttemptContext {
  /** The health of all targets of the model. */
  readonly peers: readonly TargetHealth[];
  /** The size class of the request. */
  readonly size: number;
  readonly signal: AbortSignal;
  /** The target has just failed this same request. */
  readonly isRepeated: boolean;
  /** Another attempt of the same request is running. */
  readonly isHedge: boolean;
}

export type Attempt<Q, A> = (
  request: StageRequest<Q>,
  candidate: Candidate,
  context: AttemptContext,
) => Promise<A>;

export function createAttempt<Q, A>(options: AttemptOptions<Q, A>): Attempt<Q, A> {
  const { next, clock, watchEnd, sizeClassOf, onSlotFreed } = options;
  let lastError: unknown;
  /** The requests of one batch share one error object; it counts as one failure. */
  const isNewError = (error: unknown): boolean => {
    if (error === lastError) return false;
    lastError = error;
    return true;
  };

  return (request, { health, target }, { peers, size, signal, isRepeated, isHedge }) => {
    const startedAt = clock();
    const probe = health.start(startedAt);
    // A target without limits has no queue.
    const queueWait = target.scopes && newQueueWait();
    const succeed = (): void => {
      const now = clock();
      if (timed) endTimed(timed, now, queueWait);
      request.record.routing.reachedUpstream = true;
      const tookMs = Math.max(0, now - startedAt - (queueWait?.ms ?? 0));
      health.recordSuccess(now, tookMs, size, probe, peers);
      if (health.concurrency.slots.waiting > 0) onSlotFreed();
    };
    const fail = (error: unknown): void => {
      const now = clock();
      if (timed) {
        endTimed(timed, now, queueWait);
        timed.error = signal.aborted && !wasCutOff(signal) ? canceled : errorCodeOf(error);
      }
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
      if (
        outcome.kind === "failure" ||
        outcome.kind === "rate-limited" ||
        outcome.kind === "refused"
      )
        health.addError({ at: now, code: errorCodeOf(error), message: messageOf(error) });
      // A repeated failure may come from one bad input, which must not eject the target for all clients.
      const isSameFailure = isRepeated && outcome.kind === "failure";
      health.recordEnd(now, isSameFailure ? neutral : outcome, probe, peers);
      if (health.concurrency.slots.waiting > 0) onSlotFreed();
    };
    const timed = request.record.routing.startAttempt(target, startedAt, isHedge);
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
}

const messageOf = (error: unknown): string =>
  error instanceof GatewayError ? error.message : "An internal error.";

function endTimed(timed: TimedAttempt, now: number, queueWait: QueueWait | undefined): void {
  timed.endedAt = now;
  timed.queuedMs = queueWait?.ms ?? 0;
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

/** Turns a synchronous throw of the next stage into a rejection. */
function sendSafely<Q, A>(next: Send<Q, A>, request: StageRequest<Q>): Promise<A> {
  try {
    return next(request);
  } catch (error) {
    return Promise.reject(error);
  }
}
