/** One attempt: sends a request to one target and records the outcome in the target's health. */
import { GatewayError } from "../lib/gateway-error.ts";
import { clientClosedError } from "../request/deadline.ts";
import type { QueueWait, RoutedAttempt, Send, StageRequest } from "../request/stage.ts";
import { canceled, type TimedAttempt } from "../request/timeline.ts";
import type { ImageEvent, ImageResponse } from "../upstream/contract.ts";
import { probeTimeoutMs } from "./health/circuit-breaker.ts";
import { type AttemptOutcome, classifyOutcome, neutral } from "./health/classify-outcome.ts";
import { type HedgedAttempt, wasCutOff } from "./hedge.ts";
import type { Candidate } from "./policies.ts";
import { errorKindOf, isUnsent } from "./retry-policy.ts";
import type { RouteRequestOptions } from "./routing-options.ts";
import type { ModelTargets } from "./target-registry.ts";

/** What all requests of a routing stage share. */
export interface RoutingStage<Q, A> extends RouteRequestOptions<Q, A> {
  readonly next: Send<Q, A>;
  /** The requests of one batch share one error object, which counts as one failure. */
  lastError: unknown;
}

/** The request that an attempt belongs to. */
interface AttemptedRequest<Q, A> {
  readonly stage: RoutingStage<Q, A>;
  readonly request: StageRequest<Q>;
  readonly modelTargets: ModelTargets;
  readonly sizeClass: number;
  /** When the target was selected. Milliseconds, monotonic. */
  readonly now: number;
  /** An attempt of the request has timed out. */
  readonly hasTimedOut: boolean;
}

/**
 * `repeat`: the target has just failed this same request, or does not respond to it. `hedge`: an attempt of the same
 * request is running at another target.
 */
export type AttemptRole = "first" | "repeat" | "hedge";

/** Counts itself as in flight at its target from its start until it succeeds or fails. */
export class TargetAttempt<Q, A> implements HedgedAttempt<A>, RoutedAttempt {
  readonly candidate: Candidate;
  /** The target's `responseCount` at the start. */
  readonly responseCount: number;
  /** Milliseconds, monotonic. */
  readonly startedAt: number;
  readonly #owner: AttemptedRequest<Q, A>;
  readonly #role: AttemptRole;
  #isProbe = false;
  #timed: TimedAttempt | undefined;
  readonly #queueWait: QueueWait = { ms: 0, isWaiting: false, admittedAt: 0 };

  constructor(owner: AttemptedRequest<Q, A>, candidate: Candidate, role: AttemptRole) {
    this.#owner = owner;
    this.candidate = candidate;
    this.responseCount = candidate.health.responseCount;
    this.startedAt = owner.now;
    this.#role = role;
  }

  get followsSlow(): boolean {
    return this.#role === "hedge" || this.#owner.hasTimedOut;
  }

  get hedgeAfterMs(): number | undefined {
    const { modelTargets, sizeClass } = this.#owner;
    if (modelTargets.candidates.length === 1) return undefined;
    return this.candidate.health.latency.p95Ms(sizeClass);
  }

  timeoutMs(): number {
    const { modelTargets, sizeClass } = this.#owner;
    return this.candidate.health.latency.timeoutMs(sizeClass, modelTargets.peers);
  }

  /**
   * A probe's own outcome decides whether the target has recovered, so the probe continues after a faster attempt wins.
   */
  get lingerMs(): number {
    return this.#isProbe ? probeTimeoutMs : 0;
  }

  async run(signal: AbortSignal): Promise<A> {
    const { stage, request } = this.#owner;
    const { target, health } = this.candidate;
    const { routing, trace } = request.record;
    const { watchEnd } = stage;
    this.#isProbe = health.start(this.startedAt);
    // The trace context (traceparent) of this attempt.
    const spanId = trace?.newSpanId();
    const traceHeaders = spanId === undefined ? undefined : trace?.headersOf(spanId);
    this.#timed = routing.startAttempt(target, this.startedAt, this.#role === "hedge", spanId);
    let response: A;
    try {
      // Every member is named: a spread of an object with a getter (`signal`) takes 2 µs.
      response = await stage.next({
        operation: request.operation,
        query: request.query,
        model: request.model,
        target,
        signal,
        deadline: request.deadline,
        temp: request.temp,
        record: request.record,
        queueWait: this.#queueWait,
        attempt: this,
        traceHeaders,
        sendListener: request.sendListener,
        tried: request.tried,
      });
    } catch (error) {
      this.#fail(error, signal);
      throw error;
    }
    if (!watchEnd) {
      this.#succeed();
      return response;
    }
    return watchEnd(response, (failure) =>
      failure === undefined ? this.#succeed() : this.#fail(failure, signal),
    );
  }

  #succeed(): void {
    const { request, modelTargets, sizeClass } = this.#owner;
    const now = this.#end();
    request.record.routing.reachedUpstream = true;
    const tookMs = Math.max(0, this.#durationMs(now));
    const { health } = this.candidate;
    health.recordSuccess(now, tookMs, sizeClass, this.#isProbe, modelTargets.peers);
    this.#admitWaiting();
  }

  #fail(error: unknown, signal: AbortSignal): void {
    const { request, modelTargets } = this.#owner;
    const { health } = this.candidate;
    const now = this.#end();
    if (this.#timed) {
      this.#timed.error = signal.aborted && !wasCutOff(signal) ? canceled : errorKindOf(error);
      if (error instanceof GatewayError) this.#timed.upstream = error.details.upstream;
    }
    if (!isUnsent(error)) request.record.routing.reachedUpstream = true;
    const outcome = this.#classify(error, signal, now);
    if (isTargetError(outcome)) {
      health.addError({ at: now, kind: errorKindOf(error), message: messageOf(error) });
    }
    // A repeated failure may come from one bad input, which must not eject the target for all clients.
    const isSameFailure = this.#role === "repeat" && outcome.kind === "failure";
    health.recordEnd(now, isSameFailure ? neutral : outcome, this.#isProbe, modelTargets.peers);
    this.#admitWaiting();
  }

  /** Several attempts may fail with one error, which counts once. */
  #classify(error: unknown, signal: AbortSignal, now: number): AttemptOutcome {
    const { stage, modelTargets, sizeClass } = this.#owner;
    const { peers } = modelTargets;
    const isNewError = error !== stage.lastError;
    stage.lastError = error;
    if (timedOutInQueue(this.#queueWait, error, now) || !isNewError) return neutral;
    return classifyOutcome(error, {
      aborted: signal.aborted,
      cutOff: wasCutOff(signal),
      durationMs: this.#durationMs(now),
      // A single target has no latency baseline, so the full request timeout applies.
      timeoutMs: peers.length === 1 ? 0 : this.timeoutMs(),
      abandonedMs: stage.sizeClassOf
        ? this.candidate.health.latency.abandonedMs(sizeClass, peers)
        : Number.POSITIVE_INFINITY,
    });
  }

  /** Ends the attempt in the timeline. Returns the time. */
  #end(): number {
    const now = this.#owner.stage.registry.clock();
    if (this.#timed) {
      this.#timed.endedAt = now;
      this.#timed.queuedMs = this.#queueWait.ms;
    }
    return now;
  }

  #durationMs(now: number): number {
    return now - this.startedAt - this.#queueWait.ms;
  }

  /** A slot of the target is free: queued requests are admitted. */
  #admitWaiting(): void {
    if (this.candidate.health.concurrency.slots.waiting > 0)
      this.#owner.stage.queue?.admitWaiting();
  }
}

const isTargetError = ({ kind }: AttemptOutcome): boolean =>
  kind === "failure" || kind === "rate-limited" || kind === "refused";

const messageOf = (error: unknown): string =>
  error instanceof GatewayError ? error.message : "An internal error.";

/**
 * Whether the gateway's own queue caused the timeout: the attempt never left it, or had less time at the target than in
 * the queue. That says nothing about the target.
 */
const timedOutInQueue = (wait: QueueWait, error: unknown, now: number): boolean =>
  wait.isWaiting ||
  (wait.ms > now - wait.admittedAt &&
    error instanceof GatewayError &&
    error.kind === "upstream_timeout");

/** Watches a streamed image response to its end: only the last event shows whether the target served the request. */
export function watchStreamEnd(
  response: ImageResponse,
  end: (failure?: unknown) => void,
): ImageResponse {
  if (response.kind === "stream")
    return { kind: "stream", events: watchEvents(response.events, end) };
  end();
  return response;
}

async function* watchEvents(
  events: AsyncIterable<ImageEvent>,
  end: (failure?: unknown) => void,
): AsyncGenerator<ImageEvent> {
  // A client that stops reading says nothing about the target.
  let failure: unknown = clientClosedError();
  try {
    for await (const event of events) yield event;
    failure = undefined;
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    end(failure);
  }
}
