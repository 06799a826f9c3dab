/**
 * What the routing stage needs to know about the requests of each endpoint: the capacity of targets under the gateway's
 * limits, and expected prices.
 */

import type { ModelKind } from "../../contract/model-kinds.ts";
import type { Admission } from "../limits/admission.ts";
import type { ConcurrencySlots, SlotLease } from "../limits/concurrency-slots.ts";
import { shortage } from "../limits/limiter.ts";
import { type LimitedQuery, minimumDemand } from "../limits/request-demand.ts";
import type { ChargeAttempt } from "../request/charge-attempt.ts";
import type { StageRequest } from "../request/stage.ts";
import { estimateMixedCost } from "../upstream/catalog/prices/mixed-cost.ts";
import { listedImagePrice } from "../upstream/catalog/prices/model-price.ts";
import { costOf } from "../upstream/catalog/prices/request-cost.ts";
import type { EmbeddingsQuery, GenerationQuery, Target } from "../upstream/contract.ts";
import type { TargetCapacity } from "./select-target.ts";
import type { TargetRegistry } from "./target-registry.ts";

/** The queue for targets at their hard concurrency limit. */
export interface TargetQueue<Q> {
  /** Takes a slot, after a wait if necessary. Throws GatewayError if none becomes free in time. */
  wait(request: StageRequest<Q>, slots: ConcurrencySlots, wasSent: boolean): Promise<SlotLease>;
  /** A slot was released: admits waiting requests. */
  admitWaiting(): void;
}

/** What the routing stage needs to know about the requests of one endpoint. */
export interface RouteRequestOptions<Q, A> {
  readonly registry: TargetRegistry;
  /** Whether the target supports the request. If absent, every target does. */
  readonly canServe?: (request: StageRequest<Q>, target: Target) => boolean;
  /** The size class of a request. If absent, requests are neither hedged nor canceled for being slow. */
  readonly sizeClassOf?: (query: Q) => number;
  /** The price of a request at a target, if known. */
  readonly priceOf?: (request: StageRequest<Q>, target: Target) => number | undefined;
  /** The gateway's own limits of targets. If absent, there are none. */
  readonly capacity?: TargetCapacity;
  /** Charges the request for each attempt when it ends. If absent, a later stage does. */
  readonly charge?: ChargeAttempt<Q, A>;
  /** If absent, requests do not queue, and go to targets beyond their hard limit. */
  readonly queue?: TargetQueue<Q>;
  /** Wraps a streamed response so that `end` is called after its last event. */
  readonly watchEnd?: (response: A, end: (failure?: unknown) => void) => A;
  /**
   * A free health check, for requests that are billed one by one. If set, no request is sent to an ejected target as a
   * probe while another target serves, unless this check has passed. True: the target is up.
   */
  readonly checkHealth?: (target: Target) => Promise<boolean>;
}

/** Which targets are at a rate limit, and which have no free slot. `clock`: milliseconds, monotonic. */
export const targetCapacity = (
  admission: Admission,
  clock: () => number,
  kind: ModelKind,
): TargetCapacity => ({
  hasCapacity: ({ scopes }: Target) =>
    scopes === undefined ||
    shortage(admission.scopesOf(scopes), minimumDemand[kind], clock()) === undefined,
  isBusy: ({ scopes }: Target) =>
    scopes !== undefined && admission.scopesOf(scopes).some(({ slots }) => slots.isExhausted()),
});

/** The queue before targets that have reported overload (hard adaptive concurrency limit). */
export const targetQueue = (admission: Admission): TargetQueue<LimitedQuery> => ({
  wait: ({ context, model, signal }, slots, wasSent) =>
    admission.waitForSlots({
      key: context.caller?.id ?? "",
      priority: context.priority,
      model,
      neededSlots: [slots],
      // Even if work was done for the request, its wait must be able to time out: the requests that hold the slots may
      // never end.
      hasStarted: () => false,
      wasSent,
      signal,
    }),
  admitWaiting: () => admission.admitWaiting(),
});

/**
 * The expected price, for the `cost` routing policy. Used for comparison only, never charged. Every target gets the
 * same texts, so the price per token is enough to compare. The price of images differs from target to target.
 */
export const expectedEmbeddingPrice = (
  { query: { input } }: Pick<StageRequest<EmbeddingsQuery>, "query">,
  target: Target,
): number | undefined =>
  input.kind === "mixed"
    ? estimateMixedCost(input, target, { ofText: ({ length }) => length / 4 })
    : target.tokenPrice;

/** As for embeddings. Undefined for models billed by token: the number of output tokens is not known in advance. */
export function expectedImagePrice(
  { query, operation }: StageRequest<GenerationQuery>,
  target: Target,
): number | undefined {
  const { n = 1, size, quality } = query.options;
  const kind = operation === "edits" ? "edits" : "generations";
  const price =
    target.price ?? listedImagePrice(target, { operation: kind, extraFields: query.extraFields });
  return costOf(price, {
    images: n,
    size: size === "auto" ? undefined : size,
    quality: quality === "auto" ? undefined : quality,
  });
}
