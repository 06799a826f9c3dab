/** The request record: what happened to one request, by section. Its ledger row and its log line are made from it. */
import type { ErrorKind } from "../../contract/errors.ts";
import type { LedgerRow } from "../ledger/ledger.ts";
import type { Target } from "../upstream/contract.ts";
import type { Caller } from "./caller.ts";
import type { CachePolicy, Priority, RequestUsage } from "./http-types.ts";
import type { RequestTrace } from "./request-trace.ts";
import type { Reservation } from "./reservation.ts";
import {
  maxTimedAttempts,
  type TargetSelection,
  type TimedAttempt,
  writeTimeline,
} from "./timeline.ts";

/** The attempts at targets. */
class RoutingRecord {
  /** The target of the last attempt. */
  target: Target | undefined;
  attempts = 0;
  /**
   * Requests that entered the routing stage: one, or one for each sub-request of a split request. Not counted: retries,
   * hedged requests, the fan-out of an image request, and follow-up requests for missing images.
   */
  routedRequests = 0;
  /** An attempt has ended whose upstream received the request, or one of its sub-requests. */
  reachedUpstream = false;
  /** The request was sent to a target, or is about to be. */
  hasStarted = false;
  /** The number of requests in the batch, if this request waited to be batched. */
  batchSize: number | undefined;
  /** The first attempts, in start order. Undefined: none. */
  timedAttempts: TimedAttempt[] | undefined;
  /** How each target was selected last. Undefined: none was. */
  #selections: TargetSelection[] | undefined;
  #previousTarget: Target | undefined;
  #hasSeveralTargets = false;

  /** Parts of the response may come from different targets. */
  get usedSeveralTargets(): boolean {
    return this.#hasSeveralTargets && this.routedRequests > 1;
  }

  /** `startedAt`: milliseconds, monotonic. Absent: the attempt is not part of the timeline. */
  startAttempt(
    target: Target,
    startedAt?: number,
    isHedge = false,
    spanId?: string,
  ): TimedAttempt | undefined {
    if (this.target !== undefined && this.target !== target) this.#hasSeveralTargets = true;
    this.#previousTarget = this.target;
    this.target = target;
    this.attempts++;
    if (startedAt === undefined) return undefined;
    this.timedAttempts ??= [];
    if (this.timedAttempts.length >= maxTimedAttempts) return undefined;
    const attempt: TimedAttempt = {
      target,
      startedAt,
      isHedge,
      endedAt: undefined,
      error: undefined,
      queuedMs: 0,
      spanId,
    };
    this.timedAttempts.push(attempt);
    return attempt;
  }

  recordSelection(selection: TargetSelection): void {
    this.#selections ??= [];
    const at = this.#selections.findIndex(({ target }) => target === selection.target);
    this.#selections[at === -1 ? this.#selections.length : at] = selection;
  }

  /** How the target of the ledger row was selected. */
  get selection(): TargetSelection | undefined {
    return this.#selections?.find(({ target }) => target === this.target);
  }

  /** Retracts the last attempt: it ended before anything was sent to its target, so it does not count. */
  retractAttempt(): void {
    this.target = this.#previousTarget;
    this.attempts--;
  }
}

/** The inputs of an embeddings request. */
export interface EmbeddingsRecord {
  /** 0 for other requests. */
  inputs: number;
  /** Inputs that this request did not send to an upstream: cached, in flight for another request, or duplicates. */
  cachedInputs: number;
  /** The token count that the upstream reported. 0 if no upstream was called; undefined if it reported none. */
  upstreamTokens: number | undefined;
  /** The same for the cost that the upstream reported, in US dollars. */
  upstreamCost: number | undefined;
  /**
   * The token count of the upstream requests that were served, for which a failed request is charged. Undefined if it
   * is unknown.
   */
  servedTokens: number | undefined;
  /** The same for the cost that the upstream reported. */
  servedCost: number | undefined;
  /** Inputs of sub-requests that were canceled because another one failed or the request was aborted. May be billed. */
  canceledInputs: number;
}

/** Parameters that were not served as the client sent them; response headers name them. */
export interface ParametersRecord {
  /** Parameters that the gateway applied in another way than by passing them on. */
  adapted: readonly string[] | undefined;
  /** Parameters that were removed before the upstream request, or that had no effect on the response. */
  dropped: readonly string[] | undefined;
}

/** The images of an image request. */
interface ImagesRecord {
  /** How many images the client requested. */
  requested: number;
  /** Images in the response: sent to the client, or stored for it. Undefined if there is no image response. */
  delivered: number | undefined;
  /** Images that could not be generated, while others could. */
  missing: MissingImages | undefined;
  /** Images that may have been billed, but for which no response reports a cost. */
  possiblyBilled: number;
  /** Images that were requested from another target after they may have been billed. */
  requestedAgain: number;
  /** The number of attempts that requested images which earlier targets left out. */
  fillAttempts: number;
}

/** Costs in US dollars. */
interface CostRecord {
  /** Undefined if the cost is unknown. */
  actual: number | undefined;
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
interface OutcomeRecord {
  status: number;
  /** The key of the error in the error table. */
  error: string | undefined;
  /** The message of the error that the client got, shortened. */
  errorMessage: string | null;
  latencyMs: number;
  bytesIn: number;
  bytesOut: number;
}

export class RequestRecord {
  readonly requestId: string;
  readonly endpoint: string;
  /** Unix milliseconds. */
  readonly at: number;
  /** When the request arrived: milliseconds, monotonic. */
  startedAt = 0;
  /** When the body had been read and validated: milliseconds, monotonic. 0: it was not read, or not valid. */
  receivedAt = 0;
  /** Undefined: tracing is off. */
  trace: RequestTrace | undefined;
  /**
   * The time in the fair queue and in the budget queue. Not counted: the queue of a target with limits, and the wait
   * for the memory of a large response.
   */
  queuedMs = 0;
  /** The IP address of the client, for the log. Undefined: the gateway itself sent the request. */
  clientAddress: string | undefined;
  caller: Caller | undefined;
  model: string | undefined;
  priority: Priority = "interactive";
  cachePolicy: CachePolicy = "use";
  usage: RequestUsage | undefined;
  /**
   * Short descriptions, in order: what happened to an image request, and why targets were skipped, retried or hedged.
   */
  steps: string[] | undefined;
  readonly routing = new RoutingRecord();
  readonly embeddings: EmbeddingsRecord = {
    inputs: 0,
    cachedInputs: 0,
    upstreamTokens: undefined,
    upstreamCost: undefined,
    servedTokens: 0,
    servedCost: 0,
    canceledInputs: 0,
  };
  readonly parameters: ParametersRecord = { adapted: undefined, dropped: undefined };
  readonly images: ImagesRecord = {
    requested: 1,
    delivered: undefined,
    missing: undefined,
    possiblyBilled: 0,
    requestedAgain: 0,
    fillAttempts: 0,
  };
  readonly cost: CostRecord = {
    actual: undefined,
    estimated: undefined,
    reservation: undefined,
    earlierAttemptMayBeBilled: false,
  };
  readonly outcome: OutcomeRecord = {
    status: 0,
    error: undefined,
    errorMessage: null,
    latencyMs: 0,
    bytesIn: 0,
    bytesOut: 0,
  };
  #endListeners: (() => void)[] | undefined;

  constructor(requestId: string, endpoint: string, at: number) {
    this.requestId = requestId;
    this.endpoint = endpoint;
    this.at = at;
  }

  addStep(description: string): void {
    this.steps ??= [];
    this.steps.push(description);
  }

  /** Calls `listener` when the request ends: for resources that are held until then. */
  onEnd(listener: () => void): void {
    this.#endListeners ??= [];
    this.#endListeners.push(listener);
  }

  end(): void {
    const listeners = this.#endListeners;
    this.#endListeners = undefined;
    if (listeners) callAll(listeners);
  }

  /** Undefined if no image was generated. Images that were billed, but not delivered, do not count. */
  get deliveredImages(): number | undefined {
    return this.images.delivered ?? (this.usage?.images === undefined ? undefined : 0);
  }

  ledgerRow(caller: Caller): LedgerRow {
    const { routing, usage, embeddings, cost, outcome } = this;
    const isEmbeddings = embeddings.inputs > 0;
    return {
      requestId: this.requestId,
      at: this.at,
      endpoint: this.endpoint,
      keyId: caller.id,
      model: this.model ?? null,
      upstream: routing.target?.upstream.id ?? null,
      targetModel: routing.target?.model ?? null,
      attempts: routing.attempts,
      status: outcome.status,
      error: outcome.error ?? null,
      latencyMs: outcome.latencyMs,
      inputTokens: usage?.inputTokens ?? null,
      outputTokens: usage?.outputTokens ?? null,
      images: this.deliveredImages ?? null,
      bytesIn: outcome.bytesIn,
      bytesOut: outcome.bytesOut,
      cost: cost.actual ?? null,
      steps: this.steps ? this.steps.join("; ").slice(0, 2000) : null,
      project: caller.project ?? null,
      estimatedCost: cost.estimated ?? null,
      inputs: isEmbeddings ? embeddings.inputs : null,
      timeline: writeTimeline(this),
      errorMessage: outcome.errorMessage,
      cachedInputs: isEmbeddings ? embeddings.cachedInputs : null,
      upstreamTokens: isEmbeddings ? (embeddings.upstreamTokens ?? null) : null,
    };
  }
}

/** Calls each listener, also after another has thrown. */
function callAll(listeners: readonly (() => void)[]): void {
  const [first, ...others] = listeners;
  try {
    first?.();
  } finally {
    if (others.length > 0) callAll(others);
  }
}

/** Images that were requested and are not part of the response: how many, and why. */
export interface MissingGroup {
  readonly count: number;
  /** Why they failed. Undefined: the upstream returned fewer images than requested. */
  readonly error: unknown;
  /** The upstream may have generated them, but no response reports their cost. */
  readonly mayBeBilled?: boolean;
}

/** Images that could not be generated, while others of the same request could. */
export interface MissingImages {
  readonly count: number;
  readonly kind: ErrorKind;
  /** The error of the first missing image, if there was one. */
  readonly error?: unknown;
  /** All missing images, grouped by error. */
  readonly groups: readonly MissingGroup[];
}
