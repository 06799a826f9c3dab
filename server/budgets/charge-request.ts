/**
 * Charges a request to its budgets: reserves the estimated cost before it is sent, and settles the actual cost after it
 * ends. A request that does not fit into a budget is refused.
 */
import { type BudgetedOwner, labelOwnersText } from "../../contract/limits-and-budgets.ts";
import type { ReservedRequest } from "../ledger/ledger.ts";
import {
  estimateEmbeddings,
  estimateImages,
  estimateModeration,
  type ImageEstimateInput,
} from "../limits/estimate-cost.ts";
import { noDemand } from "../limits/limiter.ts";
import type { RequestBudgets, SharedLimiter } from "../limits/shared-limiter.ts";
import type { Caller, PermittedModel } from "../request/caller.ts";
import type { Operation } from "../request/http-types.ts";
import type { RequestRecord } from "../request/request-record.ts";
import type { Reservation } from "../request/reservation.ts";
import type {
  EmbeddingsQuery,
  GenerationQuery,
  ModerationQuery,
  Target,
} from "../upstream/contract.ts";
import type { Budgets, Estimate } from "./budgets.ts";

export interface RequestChargingOptions {
  readonly budgets: Budgets;
  /** Plans the upstream request of an image request. Undefined: the target cannot serve the request. */
  readonly planImageQuery: (request: PlannedRequest, target: Target) => GenerationQuery | undefined;
  /**
   * The log of requests in flight: if this process is killed, the next one charges them. The ledger row of a request
   * ends its log entry.
   */
  readonly reservations: {
    /** `mayWait`: the entry may be written at the end of this turn of the event loop. */
    reserve(request: ReservedRequest, mayWait: boolean): void;
  };
  /** Takes from the budgets that replicas share. Absent: they belong to this process. */
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
  /** Absent: estimated from the query. */
  readonly estimate?: Estimate;
  /** It is not sent now, so it is not logged. Absent: it is sent now. */
  readonly isQueued?: true;
}

type BudgetedCaller = Caller & { readonly budgets: readonly BudgetedOwner[] };

const hasBudgets = (caller: Caller | undefined): caller is BudgetedCaller =>
  caller?.budgets !== undefined;

export type RequestCharging = ReturnType<typeof createRequestCharging>;

export function createRequestCharging({
  budgets,
  planImageQuery,
  reservations,
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
    return isReserved ? { ...estimate, maxDollars: 0, isCertain: true } : estimate;
  };

  const keep = (
    { operation, record, isQueued }: ChargedRequest,
    caller: BudgetedCaller,
    reservation: Reservation,
  ): void => {
    // The client has disconnected, or a queue timeout is over, before the other replicas' reply.
    if (record.hasEnded) {
      reservation.release();
      return;
    }
    const { requestId, at, endpoint, model = null, endUser, tags } = record;
    const { estimate } = reservation;
    const { id: keyId, project = null } = caller;
    const labels = { endUser, tags, budgets: labelOwnersText(caller.budgets) };
    record.reservation = reservation;
    if (!estimate || isQueued) return;
    // An image request is sent at once and costs a thousand times more, so its reservation is logged at once.
    const mayWait = operation === "embeddings";
    const request = { requestId, at, endpoint, keyId, model, project, estimate, ...labels };
    reservations.reserve(request, mayWait);
  };

  const demandOf = (
    request: ChargedRequest,
    caller: BudgetedCaller,
    estimate: Estimate,
  ): RequestBudgets | undefined =>
    budgets.demand(caller.budgets, estimate, request.record.at, (reservation) =>
      keep(request, caller, reservation),
    );

  /** Budgets that are not shared are reserved in the same turn. */
  const reserve = (request: ChargedRequest): Promise<void> | undefined => {
    const { caller } = request.record;
    if (!hasBudgets(caller)) return undefined;
    const estimate = estimateOf(request);
    const reserveLocally = (): void => {
      const { at } = request.record;
      keep(request, caller, budgets.reserve(caller.budgets, estimate, at));
    };
    const demand = demandOf(request, caller, estimate);
    if (shared && demand) {
      const taking = shared.take({ ...noLimits, budgets: demand });
      return taking.then((grant) => (grant ? undefined : reserveLocally()));
    }
    reserveLocally();
    return undefined;
  };

  return {
    /**
     * Shared budgets: the demand of the request, to be reserved in the same call as its limits. Undefined: `reserve`
     * reserves its cost. Throws GatewayError.
     */
    demand: (request: ChargedRequest): RequestBudgets | undefined => {
      const { caller } = request.record;
      return hasBudgets(caller) ? demandOf(request, caller, estimateOf(request)) : undefined;
    },
    /**
     * Runs before the first upstream request. Undefined: the cost is reserved, or the key has no budget. A promise: the
     * budgets are shared with other replicas. Throws, or rejects with, GatewayError if the budget is too small.
     */
    reserve,
    /** Called after the request has ended, and before its ledger row is made, which charges it. */
    end: ({ reservation }: RequestRecord): void => reservation?.release(),
  };
}

/** A call that takes only from budgets. */
const noLimits = { scopes: [], demand: noDemand };

const noCost: Estimate = { dollars: 0, isCertain: true };
