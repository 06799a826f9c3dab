/** The request record: what happened to one request, by section. Its ledger row and its log line are made from it. */
import type { LedgerRow } from "../ledger/ledger.ts";
import type { Deviations, Target } from "../upstream/contract.ts";
import type { Caller } from "./caller.ts";
import type { CachePolicy, Priority, RequestUsage } from "./http-types.ts";
import type { RequestContext, RequestReport } from "./request-report.ts";
import type { RequestTrace } from "./request-trace.ts";
import type { Reservation } from "./reservation.ts";
import {
  type AttemptStart,
  maxTimedAttempts,
  type TargetSelection,
  type TimedAttempt,
  writeTimeline,
} from "./timeline.ts";

/** The attempts at targets. */
class RoutingRecord {
  /** The target of the last attempt, or the one whose response or error was returned. */
  target: Target | undefined;
  attempts = 0;
  /**
   * Requests that entered the routing stage: one, or one for each sub-request of a split request. Not counted: retries,
   * hedged requests, the fan-out of an image request, and follow-up requests for missing images.
   */
  routedRequests = 0;
  /** An attempt has ended whose upstream received the request, or one of its sub-requests. */
  reachedUpstream = false;
  /** The number of requests in the batch, if this request waited to be batched. */
  batchSize: number | undefined;
  /** The first attempts, in start order. Undefined: none. */
  timedAttempts: TimedAttempt[] | undefined;
  /** How each target was selected last. Undefined: none was. */
  selections: TargetSelection[] | undefined;
  previousTarget: Target | undefined;
  hasSeveralTargets = false;

  /** Parts of the response may come from different targets. */
  get usedSeveralTargets(): boolean {
    return this.hasSeveralTargets && this.routedRequests > 1;
  }

  /** How the target of the ledger row was selected. */
  get selection(): TargetSelection | undefined {
    return this.selections?.find(({ target }) => target === this.target);
  }
}

/** The inputs of an embeddings request. */
interface EmbeddingsRecord {
  /** 0 for other requests. */
  inputs: number;
  /** Inputs that were sent to an upstream. The others were cached, in flight for another request, or duplicates. */
  sentInputs: number;
  /** Inputs that an upstream has served. */
  servedInputs: number;
  /**
   * The token count of the upstream requests that were served. Undefined if it is unknown, because an upstream reported
   * none.
   */
  servedTokens: number | undefined;
  /** The same for the cost in US dollars. */
  servedCost: number | undefined;
  /** Inputs of sub-requests that were canceled because another one failed or the request was aborted. May be billed. */
  canceledInputs: number;
  /** The request failed, and is charged for the part that was served. */
  isPartCharged: boolean;
}

/** The images of an image request. */
interface ImagesRecord {
  /** How many images the client requested. */
  requested: number;
  /** Images in the response: sent to the client, or stored for it. Undefined if there is no image response. */
  delivered: number | undefined;
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

const noDeviations: Deviations = Object.freeze({});

/** The most steps of a request: one that is split into hundreds of chunks would add steps for each of them. */
const maxSteps = 24;

/** Its owner is the pipeline. Stages see it as their context and their report only. */
export class RequestRecord implements RequestContext, RequestReport {
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
    sentInputs: 0,
    servedInputs: 0,
    servedTokens: 0,
    servedCost: 0,
    canceledInputs: 0,
    isPartCharged: false,
  };
  /** How the response differs from the request. */
  deviations: Deviations = noDeviations;
  readonly images: ImagesRecord = {
    requested: 1,
    delivered: undefined,
    possiblyBilled: 0,
    requestedAgain: 0,
    fillAttempts: 0,
  };
  readonly cost: CostRecord = {
    actual: undefined,
    isReported: false,
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
  constructor(requestId: string, endpoint: string, at: number) {
    this.requestId = requestId;
    this.endpoint = endpoint;
    this.at = at;
  }

  addStep(description: string): void {
    this.steps ??= [];
    if (this.steps.length < maxSteps && !this.steps.includes(description))
      this.steps.push(description);
  }

  addQueueTime(ms: number): void {
    this.queuedMs += ms;
  }

  addRoutedRequest(): void {
    this.routing.routedRequests++;
  }

  addSelection(selection: TargetSelection): void {
    const { routing } = this;
    routing.selections ??= [];
    const at = routing.selections.findIndex(({ target }) => target === selection.target);
    routing.selections[at === -1 ? routing.selections.length : at] = selection;
  }

  startAttempt(start: AttemptStart): TimedAttempt | undefined {
    const { target, startedAt, isHedge = false, isFollowUp = false, spanId } = start;
    const { routing } = this;
    if (routing.target !== undefined && routing.target !== target) routing.hasSeveralTargets = true;
    routing.previousTarget = routing.target;
    routing.attempts++;
    if (isFollowUp) this.images.fillAttempts++;
    else routing.target = target;
    if (startedAt === undefined) return undefined;
    routing.timedAttempts ??= [];
    if (routing.timedAttempts.length >= maxTimedAttempts) return undefined;
    const attempt: TimedAttempt = {
      target,
      startedAt,
      isHedge,
      endedAt: undefined,
      error: undefined,
      queuedMs: 0,
      spanId,
    };
    routing.timedAttempts.push(attempt);
    return attempt;
  }

  attemptNotSent(isFollowUp: boolean): void {
    this.routing.target = this.routing.previousTarget;
    this.routing.attempts--;
    if (isFollowUp) this.images.fillAttempts--;
  }

  reachedUpstream(): void {
    this.routing.reachedUpstream = true;
  }

  addSettled(target: Target): void {
    this.routing.target = target;
  }

  addBatch(size: number): void {
    this.routing.batchSize = size;
  }

  earlierAttemptMayBeBilled(): void {
    this.cost.earlierAttemptMayBeBilled = true;
  }

  addSentInputs(inputs: number): void {
    this.embeddings.sentInputs += inputs;
  }

  addServed(inputs: number, tokens: number | undefined, cost: number | undefined): void {
    const { embeddings } = this;
    embeddings.servedInputs += inputs;
    embeddings.servedTokens = sumOfKnown(embeddings.servedTokens, tokens);
    embeddings.servedCost = sumOfKnown(embeddings.servedCost, cost);
  }

  addCanceledInputs(inputs: number): void {
    this.embeddings.canceledInputs += inputs;
  }

  addCost(cost: number | undefined): void {
    this.cost.actual = this.cost.isReported ? sumOfKnown(this.cost.actual, cost) : cost;
    this.cost.isReported = true;
  }

  addUsage(usage: RequestUsage): void {
    const before = this.usage;
    if (!before) this.usage = usage;
    else this.usage = sumUsage(before, usage);
  }

  addPossiblyBilled(images: number): void {
    this.images.possiblyBilled += images;
  }

  addRequestedAgain(images: number): void {
    this.images.requestedAgain += images;
  }

  /** Inputs that this request did not send to an upstream. */
  get cachedInputs(): number {
    return Math.max(0, this.embeddings.inputs - this.embeddings.sentInputs);
  }

  /** The tokens that upstreams counted. 0 if no upstream was called; undefined if the count is unknown. */
  get upstreamTokens(): number | undefined {
    const { sentInputs, servedInputs, servedTokens, isPartCharged } = this.embeddings;
    return servedInputs >= sentInputs || isPartCharged ? servedTokens : undefined;
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
      cachedInputs: isEmbeddings ? this.cachedInputs : null,
      upstreamTokens: isEmbeddings ? (this.upstreamTokens ?? null) : null,
    };
  }
}

/** Undefined if one of the two is unknown. */
export const sumOfKnown = (
  before: number | undefined,
  next: number | undefined,
): number | undefined => (before === undefined || next === undefined ? undefined : before + next);

function sumUsage(before: RequestUsage, next: RequestUsage): RequestUsage {
  const inputTokens = sumOfKnown(before.inputTokens, next.inputTokens);
  const outputTokens = sumOfKnown(before.outputTokens, next.outputTokens);
  const images = sumOfKnown(before.images, next.images);
  return {
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(images !== undefined && { images }),
  };
}
