/**
 * Charges a request to its budgets: reserves the estimated cost before it is sent, and settles the actual cost after it
 * ends. A request that does not fit into a budget is refused.
 */
import { endUsersAndTagsText } from "../../contract/limits-and-budgets.ts";
import type { InFlightRequest } from "../ledger/ledger.ts";
import {
  estimateEmbeddings,
  estimateImages,
  estimateModeration,
  type ImageEstimateInput,
} from "../limits/estimate-cost.ts";
import { noDemand } from "../limits/limiter.ts";
import type { RequestBudgets, SharedLimiter } from "../limits/shared-limiter.ts";
import type { PermittedModel } from "../request/caller.ts";
import type { Operation } from "../request/operation.ts";
import type { RequestRecord } from "../request/request-record.ts";
import type { Reservation } from "../request/reservation.ts";
import type {
  EmbeddingsQuery,
  GenerationQuery,
  ModerationQuery,
  Target,
} from "../upstream/contract.ts";
import type { BudgetRequest, Budgets, Estimate } from "./budgets.ts";

export interface RequestChargingOptions {
  readonly budgets: Budgets;
  /** Plans the upstream request of an image request. Undefined if the target cannot serve the request. */
  readonly planImageQuery: (request: PlannedRequest, target: Target) => GenerationQuery | undefined;
  /**
   * The log of requests that were sent: if this process is killed, the next one writes their ledger rows. The row of a
   * request ends its log entry.
   */
  readonly inFlight: {
    /** It is written before the next upstream request is sent. */
    begin(request: InFlightRequest): void;
  };
  /** Takes from the budgets that replicas share. If absent, each process counts for itself. */
  readonly shared?: Pick<SharedLimiter, "take"> | undefined;
}

interface PlannedRequest {
  readonly operation: ImageEstimateInput["operation"];
  readonly query: GenerationQuery;
  readonly policy: NonNullable<PermittedModel["parameters"]>;
}

/** A request that is charged to the budgets of its key and its project. */
export interface ChargedRequest {
  readonly operation: Operation;
  readonly query: unknown;
  readonly model: PermittedModel;
  readonly record: RequestRecord;
  /** If absent, estimated from the query. */
  readonly estimate?: Estimate;
}

export type RequestCharging = ReturnType<typeof createRequestCharging>;

export function createRequestCharging({
  budgets,
  planImageQuery,
  inFlight,
  shared,
}: RequestChargingOptions) {
  const estimateQuery = ({ operation, query, model, record }: ChargedRequest): Estimate => {
    if (operation === "embeddings")
      return estimateEmbeddings(query as EmbeddingsQuery, model.targets);
    if (operation === "moderations")
      return estimateModeration(query as ModerationQuery, model.moderation?.target);
    const image = query as GenerationQuery;
    const { targets, maxImages } = model;
    // A request above `maxImages` is rejected by a later stage and costs nothing.
    if ((image.options.n ?? 1) > maxImages) return noCost;
    const policy = record.caller?.parameters ?? model.parameters ?? "adapt";
    return estimateImages({
      operation,
      targets,
      planFor: (target) => planImageQuery({ operation, query: image, policy }, target),
    });
  };

  /** A line of a job that is reserved already, or may have been billed, is charged, and never refused. */
  const estimateOf = (request: ChargedRequest): Estimate => {
    if (request.estimate) return request.estimate;
    const { line } = request.record;
    if (line?.vendor) return noCost;
    const estimate = estimateQuery(request);
    const isReserved = line?.wasSent || line?.isReserved;
    if (isReserved) return { ...estimate, maxDollars: 0, isCertain: true };
    const { reservedPart } = line ?? {};
    return reservedPart === undefined ? estimate : { ...estimate, reservedPart };
  };

  const retain = ({ record }: ChargedRequest, reservation: Reservation): void => {
    // The client has disconnected, or a queue timeout is over, before the other replicas' reply.
    if (record.hasEnded) reservation.release();
    else record.reservation = reservation;
  };

  /** Undefined if the key has no budget. Throws GatewayError. */
  const budgetRequestOf = (request: ChargedRequest): BudgetRequest | undefined => {
    const { caller, at } = request.record;
    return caller?.budgets
      ? budgets.request(caller.budgets, estimateOf(request), at, (reservation) =>
          retain(request, reservation),
        )
      : undefined;
  };

  /** Budgets that are not shared are reserved in the same turn. */
  const reserve = (request: ChargedRequest): Promise<void> | undefined => {
    const demand = budgetRequestOf(request);
    if (!shared || !demand || !budgets.isShared) {
      demand?.reserveHere();
      return undefined;
    }
    const taking = shared.take({ ...noLimits, budgets: demand });
    return taking.then((grant) => (grant ? undefined : demand.reserveHere()));
  };

  return {
    /**
     * Shared budgets: the demand of the request, to be reserved in the same call as its limits. If undefined,
     * `reserve` reserves its cost. Throws GatewayError.
     */
    demand: (request: ChargedRequest): RequestBudgets | undefined =>
      budgets.isShared ? budgetRequestOf(request) : undefined,
    /**
     * Runs before the first upstream request. Undefined if the cost is reserved, or the key has no budget. A promise:
     * the budgets are shared with other replicas. Throws, or rejects with, GatewayError if the budget is too small.
     */
    reserve,
    /** Called before an attempt. `attempts`: how many of them may be billed for which nothing is charged yet. */
    logAttempt: (request: ChargedRequest, attempts: number): void => {
      const { record } = request;
      const { requestId, at, endpoint, model = null, endUser, tags, caller, line, charge } = record;
      // What an earlier process has sent, or a vendor's batch, is charged when its result is delivered.
      const isResumed = line?.vendor || (line?.wasSent && record.routing.attempts === 1);
      if (!caller || record.hasEnded || isResumed) return;
      const dollars = record.reservation?.estimate ?? estimateOf(request).dollars;
      const isUnknown = dollars === undefined && charge.isEmpty;
      const estimate = isUnknown ? undefined : (dollars ?? 0) * attempts + charge.total;
      const { id: keyId, project = null } = caller;
      inFlight.begin({
        requestId,
        at,
        endpoint,
        keyId,
        model,
        project,
        estimate,
        endUser,
        tags,
        budgets: endUsersAndTagsText(caller.budgets),
      });
    },
  };
}

/** A call that takes only from budgets. */
const noLimits = { scopes: [], demand: noDemand };

const noCost: Estimate = { dollars: 0, isCertain: true };
