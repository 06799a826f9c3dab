/** The request record: what happened to one request, by section. Its ledger row and its log line are made from it. */

import { endUsersAndTagsText } from "../../contract/limits-and-budgets.ts";
import { type Step, stepText } from "../../contract/request-steps.ts";
import type { LedgerRow } from "../ledger/ledger.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import { recordedDollars } from "../lib/nano-dollars.ts";
import type { Deviations, Target } from "../upstream/contract.ts";
import { mayHaveBeenBilled, withBillingWarning } from "../upstream/may-have-been-billed.ts";
import type { Caller, PermittedModel } from "./caller.ts";
import { type AttemptCharge, Charge } from "./charge.ts";
import type { CachePolicy, Priority, RequestUsage } from "./http-types.ts";
import type { JobLineContext } from "./job-line.ts";
import { generatesImages, type Operation } from "./operation.ts";
import type {
  EmbeddingsRecord,
  ImagesRecord,
  OutcomeRecord,
  RoutingRecord,
} from "./record-sections.ts";
import { recordedMessage } from "./recorded-message.ts";
import type { RequestContext, RequestReport } from "./request-report.ts";
import type { RequestTrace } from "./request-trace.ts";
import type { Reservation } from "./reservation.ts";
import {
  type AttemptStart,
  maxTimedAttempts,
  type TimedAttempt,
  writeTimeline,
} from "./timeline.ts";

const noDeviations: Deviations = Object.freeze({});

/** The most steps of a request: one that is split into hundreds of chunks would add steps for each of them. */
const maxSteps = 24;

/** Its owner is the pipeline. Stages see it as their context and their report only. */
export class RequestRecord implements RequestContext, RequestReport {
  readonly requestId: string;
  readonly endpoint: Operation;
  /** Unix milliseconds. */
  readonly at: number;
  /** When the request arrived: milliseconds, monotonic. */
  startedAt = 0;
  /** When the body had been read and validated: milliseconds, monotonic. 0: it was not read, or not valid. */
  receivedAt = 0;
  /** The path as the routing table has it. Undefined if the request did not come over HTTP. */
  route: string | undefined;
  /** Undefined if tracing is off. */
  trace: RequestTrace | undefined;
  /** Undefined if the request is not a line of a job. */
  line: JobLineContext | undefined;
  /**
   * The time in the fair queue and in the budget queue. Not counted: the queue of a target with limits, and the wait
   * for the memory of a large response.
   */
  queuedMs = 0;
  /** The IP address of the client, for the log. Undefined if the gateway itself sent the request. */
  clientAddress: string | undefined;
  caller: Caller | undefined;
  /** Its id, also if the caller may not use it. Undefined if the request names no model of the configuration. */
  model: string | undefined;
  permittedModel: PermittedModel | undefined;
  /** As in the ledger. Null if the client named none. */
  endUser: string | null = null;
  /** Separated by commas. */
  tags: string | null = null;
  priority: Priority = "interactive";
  cachePolicy: CachePolicy = "use";
  usage: RequestUsage | undefined;
  /**
   * Short descriptions, in order: what happened to an image request, and why targets were skipped, retried or hedged.
   */
  steps: string[] | undefined;
  /** The process that serves the request. */
  replica: string | null = null;
  readonly routing: RoutingRecord = {
    target: undefined,
    previousTarget: undefined,
    attempts: 0,
    reachedUpstream: false,
    microBatchSize: undefined,
    timedAttempts: undefined,
  };
  readonly embeddings: EmbeddingsRecord = {
    inputs: 0,
    inputPixels: undefined,
    moreTokens: 0,
    sentInputs: 0,
    servedInputs: 0,
    servedTokens: 0,
  };
  /** How the response differs from the request. */
  deviations: Deviations = noDeviations;
  readonly images: ImagesRecord = {
    requested: 1,
    delivered: undefined,
  };
  readonly charge = new Charge();
  /** Logs an attempt before it begins. `attempts`: how many may be billed for which nothing is charged yet. */
  logAttempt: ((attempts: number) => void) | undefined;
  /** The budget reservation, until the request ends. Undefined if no budget applies. */
  reservation: Reservation | undefined;
  readonly outcome: OutcomeRecord = {
    status: 0,
    error: undefined,
    errorMessage: null,
    latencyMs: 0,
    bytesIn: 0,
    bytesOut: 0,
  };
  constructor(requestId: string, endpoint: Operation, at: number) {
    this.requestId = requestId;
    this.endpoint = endpoint;
    this.at = at;
  }

  addStep(...step: Step): void {
    const text = stepText(step);
    this.steps ??= [];
    if (this.steps.length < maxSteps && !this.steps.includes(text)) this.steps.push(text);
  }

  addQueueTime(ms: number): void {
    this.queuedMs += ms;
  }

  startAttempt(start: AttemptStart): TimedAttempt | undefined {
    const { target, startedAt, isHedge = false, selection, spanId } = start;
    const { routing } = this;
    routing.previousTarget = routing.target;
    routing.attempts++;
    routing.target = target;
    if (routing.attempts === 1 || isHedge || this.charge.isUncertain)
      this.logAttempt?.(isHedge ? 2 : 1);
    if (startedAt === undefined) return undefined;
    routing.timedAttempts ??= [];
    if (routing.timedAttempts.length >= maxTimedAttempts) return undefined;
    const attempt: TimedAttempt = {
      target,
      startedAt,
      isHedge,
      selection,
      endedAt: undefined,
      error: undefined,
      queuedMs: 0,
      spanId,
    };
    routing.timedAttempts.push(attempt);
    return attempt;
  }

  attemptNotSent(): void {
    this.routing.target = this.routing.previousTarget;
    this.routing.attempts--;
  }

  reachedUpstream(): void {
    this.routing.reachedUpstream = true;
  }

  addSettled(target: Target): void {
    this.routing.target = target;
  }

  addMicroBatch(size: number): void {
    this.routing.microBatchSize = size;
  }

  addCharge(charge: AttemptCharge): void {
    this.charge.add(charge);
  }

  addLoadedImages(pixels: number, moreTokens: number): void {
    this.embeddings.inputPixels = (this.embeddings.inputPixels ?? 0) + pixels;
    this.embeddings.moreTokens += moreTokens;
  }

  addSentInputs(inputs: number): void {
    this.embeddings.sentInputs += inputs;
  }

  addServed(inputs: number, tokens: number | undefined): void {
    const { embeddings } = this;
    embeddings.servedInputs += inputs;
    embeddings.servedTokens = sumOfKnown(embeddings.servedTokens, tokens);
  }

  addUsage(usage: RequestUsage): void {
    const before = this.usage;
    if (!before) this.usage = usage;
    else this.usage = sumUsage(before, usage);
  }

  /** Inputs that this request did not send to an upstream. A failed request was not served from the cache. */
  get cachedInputs(): number {
    const { inputs, sentInputs } = this.embeddings;
    return this.outcome.error === undefined ? Math.max(0, inputs - sentInputs) : 0;
  }

  /** The tokens that upstreams counted. 0 if no upstream was called; undefined if the count is unknown. */
  get upstreamTokens(): number | undefined {
    const { sentInputs, servedInputs, servedTokens } = this.embeddings;
    return servedInputs >= sentInputs || this.#isPartServed ? servedTokens : undefined;
  }

  /** The request failed, and every part of it that may be billed was served. */
  get #isPartServed(): boolean {
    const { error } = this.outcome;
    return error !== undefined && this.embeddings.servedInputs > 0 && !this.charge.isUncertain;
  }

  /** What the request is charged, in US dollars. Undefined if no price is known. */
  get charged(): number | undefined {
    const { total } = this.charge;
    return total === 0 ? this.knownCost : total;
  }

  /** The known cost in US dollars. Undefined if unknown. A successful request that no upstream billed costs nothing. */
  get knownCost(): number | undefined {
    if (this.charge.isEmpty) return this.outcome.error === undefined ? 0 : undefined;
    return this.charge.cost;
  }

  /** Whether the request reached an upstream, or may have. */
  wasSent(error: GatewayError | undefined): boolean {
    const { attempts, reachedUpstream } = this.routing;
    return attempts > 0 && (reachedUpstream || !error?.details.notSent);
  }

  /** The error for the client: an image that may have been billed is generated again only if the client decides so. */
  clientError(error: GatewayError): GatewayError {
    const mayBeBilled =
      generatesImages(this.endpoint) &&
      !this.permittedModel?.retryPaid &&
      mayHaveBeenBilled(this.routing.attempts, error);
    return mayBeBilled ? withBillingWarning(error) : error;
  }

  /** The request is being settled, or was. */
  get hasEnded(): boolean {
    return this.outcome.status !== 0;
  }

  /** `now`: milliseconds, monotonic. */
  end(status: number, error: GatewayError | undefined, now: number, bytesIn: number): void {
    const { outcome } = this;
    outcome.status = error?.definition.status ?? status;
    outcome.error = error?.kind;
    if (error)
      outcome.errorMessage = recordedMessage(this.clientError(error), this.model !== undefined);
    outcome.latencyMs = now - this.startedAt;
    outcome.bytesIn = bytesIn;
    const { servedTokens } = this.embeddings;
    if (this.#isPartServed && servedTokens) this.usage = { inputTokens: servedTokens };
  }

  /** The ledger row could not be written. */
  addLedgerFailure({ kind, definition }: GatewayError): void {
    this.outcome.status = definition.status;
    this.outcome.error = kind;
  }

  /** Undefined if no image was generated. Images that were billed, but not delivered, do not count. */
  get deliveredImages(): number | undefined {
    return this.images.delivered ?? (this.usage?.images === undefined ? undefined : 0);
  }

  ledgerRow(caller: Caller): LedgerRow {
    const { routing, usage, embeddings, charge, outcome } = this;
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
      cost: recordedDollars(this.knownCost),
      steps: this.steps ? this.steps.join("; ").slice(0, 2000) : null,
      project: caller.project ?? null,
      estimatedCost: recordedDollars(charge.estimatedCost),
      inputs: isEmbeddings ? embeddings.inputs : null,
      timeline: writeTimeline(this),
      errorMessage: outcome.errorMessage,
      replica: this.replica,
      endUser: this.endUser,
      budgets: endUsersAndTagsText(caller.budgets),
      tags: this.tags,
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
