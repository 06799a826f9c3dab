/** One attempt: sends a request to one target and records the outcome in the target's health. */
import { GatewayError } from "../lib/gateway-error.ts";
import { mayBeCharged } from "../request/charge-attempt.ts";
import { clientClosedError } from "../request/deadline.ts";
import type { QueueWait, RoutedAttempt, Send, StageRequest } from "../request/stage.ts";
import { canceled, type TargetSelection, type TimedAttempt } from "../request/timeline.ts";
import type { ImageEvent, ImageResponse } from "../upstream/contract.ts";
import { type AttemptOutcome, classifyOutcome, neutral } from "./health/classify-outcome.ts";
import { type HedgedAttempt, wasCutOff } from "./hedge.ts";
import type { Candidate } from "./policies.ts";
import { errorKindOf, isUnsent } from "./retry-policy.ts";
import type { RouteRequestOptions } from "./routing-options.ts";
import type { ModelTargets } from "./target-registry.ts";

/** What all requests of a routing stage share. */
export interface RoutingStage<Q, A> extends RouteRequestOptions<Q, A> {
  readonly next: Send<Q, A>;
  /** The requests of one micro-batch share one error object, which counts as one failure. */
  lastError: unknown;
}

/** The request that an attempt belongs to. */
export interface AttemptedRequest<Q, A> {
  readonly stage: RoutingStage<Q, A>;
  readonly request: StageRequest<Q>;
  readonly modelTargets: ModelTargets;
  readonly sizeClass: number;
  /** An upstream received the request in an attempt that has ended. */
  wasSent: boolean;
}

interface AttemptStart {
  /** When the target was selected. Milliseconds, monotonic. */
  readonly startedAt: number;
  /** Another attempt of the request is running at another target. */
  readonly isHedge: boolean;
  /** The target has already failed this same request. */
  readonly isRepeat: boolean;
  /** An attempt of the request has timed out. */
  readonly hasTimedOut: boolean;
  /** Why the target was selected. */
  readonly selection: TargetSelection | undefined;
}

/** Counts itself as in flight at its target from its start until it succeeds or fails. */
export class TargetAttempt<Q, A> implements HedgedAttempt<A>, RoutedAttempt {
  readonly candidate: Candidate;
  /** Milliseconds, monotonic. */
  readonly startedAt: number;
  readonly followsSlow: boolean;
  readonly #owner: AttemptedRequest<Q, A>;
  readonly #isHedge: boolean;
  readonly #isRepeat: boolean;
  readonly #selection: TargetSelection | undefined;
  isProbe = false;
  #timed: TimedAttempt | undefined;
  queueWait: QueueWait = { ms: 0, isWaiting: false, admittedAt: 0 };
  #isCharged = false;

  constructor(
    owner: AttemptedRequest<Q, A>,
    candidate: Candidate,
    { startedAt, isHedge, isRepeat, hasTimedOut, selection }: AttemptStart,
  ) {
    this.#owner = owner;
    this.candidate = candidate;
    this.startedAt = startedAt;
    this.#isHedge = isHedge;
    this.#isRepeat = isRepeat;
    this.#selection = selection;
    this.followsSlow = isHedge || hasTimedOut;
  }

  get wasSent(): boolean {
    return this.#owner.wasSent;
  }

  get hedgeAfterMs(): number | undefined {
    return this.candidate.health.latency.p95Ms(this.#owner.sizeClass);
  }

  timeoutMs(): number {
    const { modelTargets, sizeClass } = this.#owner;
    return this.candidate.health.latency.timeoutMs(sizeClass, modelTargets.peers);
  }

  async run(signal: AbortSignal): Promise<A> {
    const { stage, request } = this.#owner;
    const { target, health } = this.candidate;
    const { report, context } = request;
    const { trace } = context;
    const { watchEnd } = stage;
    this.isProbe = health.start(this.startedAt);
    // The trace context (traceparent) of this attempt.
    const spanId = trace?.newSpanId();
    const traceHeaders = spanId === undefined ? undefined : trace?.headersOf(spanId);
    this.#timed = report.startAttempt({
      target,
      startedAt: this.startedAt,
      isHedge: this.#isHedge,
      selection: this.#selection,
      spanId,
    });
    let response: A;
    try {
      response = await stage.next({
        ...request,
        target,
        signal: () => signal,
        attempt: this,
        traceHeaders,
      });
    } catch (error) {
      this.#fail(error, signal);
      throw error;
    }
    this.#charge(response);
    if (!watchEnd) {
      this.#succeed();
      return response;
    }
    return watchEnd(response, (failure) =>
      failure === undefined ? this.#succeed() : this.#fail(failure, signal),
    );
  }

  /** Another attempt has won, and this one is canceled: its upstream may bill it. */
  onWasted(): void {
    this.#chargePossibly();
  }

  chargeEarlierMicroBatch(): void {
    const { stage, request } = this.#owner;
    stage.charge?.(request, this.candidate.target, undefined);
  }

  #chargePossibly(): void {
    // It has not left the queue of the gateway.
    if (!this.queueWait.isWaiting) this.#charge(undefined);
  }

  /** Once: the request may be settled before an attempt that was canceled has ended. */
  #charge(response: A | undefined): void {
    if (this.#isCharged) return;
    this.#isCharged = true;
    const { stage, request } = this.#owner;
    stage.charge?.(request, this.candidate.target, response);
  }

  #succeed(): void {
    const { sizeClass } = this.#owner;
    const now = this.#end();
    this.#reportSent();
    const tookMs = Math.max(0, this.#durationMs(now));
    const { health } = this.candidate;
    health.recordSuccess(now, this.startedAt, tookMs, sizeClass);
    health.failedRequests.end(now, this.#client);
    this.#admitWaiting();
  }

  #fail(error: unknown, signal: AbortSignal): void {
    const { modelTargets } = this.#owner;
    const { health } = this.candidate;
    const now = this.#end();
    if (this.#timed) {
      this.#timed.error = signal.aborted && !wasCutOff(signal) ? canceled : errorKindOf(error);
      if (error instanceof GatewayError) {
        this.#timed.upstream = error.details.upstream;
        this.#timed.reason = error.details.logDetail;
      }
    }
    if (!isUnsent(error)) this.#reportSent();
    if (mayBeCharged(error)) this.#chargePossibly();
    const outcome = this.#classify(error, signal, now);
    if (isTargetError(outcome)) {
      health.addError({ at: now, kind: errorKindOf(error), message: messageOf(error) });
    }
    // A repeated failure may come from one bad input, which must not eject the target for all clients.
    const isSameFailure = outcome.kind === "failure" && (this.#isRepeat || this.#hasFailed(error));
    const { peers } = modelTargets;
    health.recordEnd(
      now,
      this.startedAt,
      isSameFailure ? neutral : outcome,
      () => peers.every((peer) => peer === health || peer.state(now) !== "healthy"),
      () => this.#isOfOneClient(error, now),
    );
    if (outcome.kind === "reachable") health.failedRequests.end(now, this.#client);
    this.#admitWaiting();
  }

  /** The target answers only requests of this client with errors, and the model serves other clients. */
  #isOfOneClient(error: unknown, now: number): boolean {
    const client = this.#client;
    return (
      isAnswered(error) &&
      this.candidate.health.failedRequests.areOnlyOf(client) &&
      this.#owner.modelTargets.peers.some((peer) =>
        peer.failedRequests.hasServedOthers(client, now),
      )
    );
  }

  get #client(): string {
    return this.#owner.request.context.caller?.id ?? "";
  }

  /** The target has answered the same request with an error before, and has served no other since. */
  #hasFailed(error: unknown): boolean {
    if (!isAnswered(error)) return false;
    const { query, context } = this.#owner.request;
    return !this.candidate.health.failedRequests.add({
      requestId: context.requestId,
      client: this.#client,
      query,
    });
  }

  #reportSent(): void {
    this.#owner.wasSent = true;
    this.#owner.request.report.reachedUpstream();
  }

  /** Several attempts may fail with one error, which counts once. */
  #classify(error: unknown, signal: AbortSignal, now: number): AttemptOutcome {
    const { stage, modelTargets } = this.#owner;
    const isNewError = error !== stage.lastError;
    stage.lastError = error;
    if (timedOutInQueue(this.queueWait, error, now) || !isNewError) return neutral;
    return classifyOutcome(error, {
      aborted: signal.aborted,
      cutOff: wasCutOff(signal),
      durationMs: this.#durationMs(now),
      // A single target has no latency baseline, so the full request timeout applies.
      timeoutMs: modelTargets.peers.length === 1 ? 0 : this.timeoutMs(),
    });
  }

  /** Ends the attempt in the timeline. Returns the time. */
  #end(): number {
    const now = this.#owner.stage.registry.clock();
    if (this.#timed) {
      this.#timed.endedAt = now;
      this.#timed.queuedMs = this.queueWait.ms;
    }
    return now;
  }

  #durationMs(now: number): number {
    return now - this.startedAt - this.queueWait.ms;
  }

  /** A slot of the target is free: queued requests are admitted. */
  #admitWaiting(): void {
    if (this.candidate.health.concurrency.slots.waiting > 0)
      this.#owner.stage.queue?.admitWaiting();
  }
}

const isTargetError = ({ kind }: AttemptOutcome): boolean =>
  kind === "failure" || kind === "rate-limited" || kind === "refused";

/** The target responded, with an error such as status 500. */
const isAnswered = (error: unknown): boolean =>
  error instanceof GatewayError &&
  error.kind === "upstream_error" &&
  error.details.upstream !== undefined;

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
  if (response.kind === "stream") return { ...response, events: watchEvents(response.events, end) };
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
