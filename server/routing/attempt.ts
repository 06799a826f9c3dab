/** One attempt: sends a request to one target and records the outcome in the target's health. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { TraceHeaders } from "../request/request-trace.ts";
import { forTarget, type QueueWait, type Send, type StageRequest } from "../request/stage.ts";
import { canceled, type TimedAttempt } from "../request/timeline.ts";
import { type AttemptOutcome, classifyOutcome, neutral } from "./health/classify-outcome.ts";
import type { TargetHealth } from "./health/target-health.ts";
import { wasCutOff } from "./hedge.ts";
import type { Candidate } from "./policies.ts";
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
  const { next, watchEnd } = options;
  let lastError: unknown;
  /** The requests of one batch share one error object; it counts as one failure. */
  const isNewError = (error: unknown): boolean => {
    if (error === lastError) return false;
    lastError = error;
    return true;
  };

  return async (request, candidate, context) => {
    const { target } = candidate;
    const { signal } = context;
    const attempt = new RunningAttempt(options, request, candidate, context);
    let response: A;
    try {
      response = await next(
        forTarget(request, target, signal, attempt.queueWait, attempt.traceHeaders),
      );
    } catch (error) {
      attempt.fail(error, isNewError(error));
      throw error;
    }
    if (!watchEnd) {
      attempt.succeed();
      return response;
    }
    return watchEnd(response, (failure) =>
      failure === undefined ? attempt.succeed() : attempt.fail(failure, isNewError(failure)),
    );
  };
}

const isTargetError = ({ kind }: AttemptOutcome): boolean =>
  kind === "failure" || kind === "rate-limited" || kind === "refused";

const messageOf = (error: unknown): string =>
  error instanceof GatewayError ? error.message : "An internal error.";

function endTimed(timed: TimedAttempt, now: number, queueWait: QueueWait | undefined): void {
  timed.endedAt = now;
  timed.queuedMs = queueWait?.ms ?? 0;
}

/** Counts itself as in flight at its target from its start until it succeeds or fails. */
class RunningAttempt<Q, A> {
  readonly #options: AttemptOptions<Q, A>;
  readonly #request: StageRequest<Q>;
  readonly #health: TargetHealth;
  readonly #context: AttemptContext;
  readonly #startedAt: number;
  readonly #isProbe: boolean;
  readonly #timed: TimedAttempt | undefined;
  /** Undefined: a target without limits has no queue. */
  readonly queueWait: QueueWait | undefined;
  /** Undefined: tracing is off. */
  readonly traceHeaders: TraceHeaders | undefined;

  constructor(
    options: AttemptOptions<Q, A>,
    request: StageRequest<Q>,
    { health, target }: Candidate,
    context: AttemptContext,
  ) {
    this.#options = options;
    this.#request = request;
    this.#health = health;
    this.#context = context;
    this.#startedAt = options.clock();
    this.#isProbe = health.start(this.#startedAt);
    this.queueWait = target.scopes && newQueueWait();
    const { routing, trace } = request.record;
    const spanId = trace?.newSpanId();
    this.traceHeaders = spanId === undefined ? undefined : trace?.headersOf(spanId);
    this.#timed = routing.startAttempt(target, this.#startedAt, context.isHedge, spanId);
  }

  succeed(): void {
    const { peers, size } = this.#context;
    const now = this.#options.clock();
    if (this.#timed) endTimed(this.#timed, now, this.queueWait);
    this.#request.record.routing.reachedUpstream = true;
    const tookMs = Math.max(0, this.#durationMs(now));
    this.#health.recordSuccess(now, tookMs, size, this.#isProbe, peers);
    this.#admitWaiting();
  }

  fail(error: unknown, isNewError: boolean): void {
    const { peers, size, signal, isRepeated } = this.#context;
    const { latency } = this.#health;
    const now = this.#options.clock();
    if (this.#timed) {
      endTimed(this.#timed, now, this.queueWait);
      this.#timed.error = signal.aborted && !wasCutOff(signal) ? canceled : errorCodeOf(error);
    }
    if (!isUnsent(error)) this.#request.record.routing.reachedUpstream = true;
    const end = {
      aborted: signal.aborted,
      cutOff: wasCutOff(signal),
      durationMs: this.#durationMs(now),
      // A single target has no latency baseline, so the full request timeout applies.
      timeoutMs: peers.length === 1 ? 0 : latency.timeoutMs(size, peers),
      abandonedMs: this.#options.sizeClassOf
        ? latency.abandonedMs(size, peers)
        : Number.POSITIVE_INFINITY,
    };
    const outcome =
      timedOutInQueue(this.queueWait, error, now) || !isNewError
        ? neutral
        : classifyOutcome(error, end);
    if (isTargetError(outcome)) {
      this.#health.addError({ at: now, code: errorCodeOf(error), message: messageOf(error) });
    }
    // A repeated failure may come from one bad input, which must not eject the target for all clients.
    const isSameFailure = isRepeated && outcome.kind === "failure";
    this.#health.recordEnd(now, isSameFailure ? neutral : outcome, this.#isProbe, peers);
    this.#admitWaiting();
  }

  #durationMs(now: number): number {
    return now - this.#startedAt - (this.queueWait?.ms ?? 0);
  }

  #admitWaiting(): void {
    if (this.#health.concurrency.slots.waiting > 0) this.#options.onSlotFreed();
  }
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
