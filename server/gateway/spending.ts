/** Between a call and the budgets it is charged to: holds what it may cost before, and settles what it did cost after. */
import type { GatewayError } from "../std/gateway-error.ts";
import type { EmbeddingsQuery, GenerationQuery } from "../upstream/contract.ts";
import type { Budgets, Estimate } from "../usage/budgets/budgets.ts";
import type { Operation } from "./endpoint.ts";
import { estimatePictures, estimateVectors, type Picturing } from "./estimate.ts";
import { LearnedCosts } from "./learned-costs.ts";
import type { Route } from "./resolve.ts";
import type { Trip } from "./trip.ts";

export interface SpendingOptions {
  readonly budgets: Budgets;
  /** What a target can draw. */
  readonly traits: Picturing["traits"];
}

export interface Spending {
  /** Before anyone is asked. Does nothing where the key has no budget; throws GatewayError where there is not enough. */
  begin(operation: Operation, query: unknown, route: Route, trip: Trip): void;
  /** When the call is over and its cost, if it is known, is in the trip. Before its row is made. */
  end(trip: Trip, error?: GatewayError): void;
}

export function createSpending({ budgets, traits }: SpendingOptions): Spending {
  const learned = new LearnedCosts();

  /** A price that is told only afterwards may be the last time's. */
  const pictures = (
    operation: Picturing["operation"],
    query: GenerationQuery,
    route: Route,
    trip: Trip,
  ) => {
    const { targets, id } = route;
    const policy = trip.caller?.parameters ?? route.parameters ?? "adapt";
    const listed = estimatePictures({ operation, query, targets, policy, traits });
    const { n = 1, size, quality } = query.options;
    const what = JSON.stringify([id, operation, size, quality]).slice(0, 500);
    const before = listed.certain ? undefined : learned.of(what);
    const estimate: Estimate =
      before === undefined
        ? listed
        : { dollars: Math.max(listed.dollars ?? 0, before * n), certain: false };
    return { estimate, learn: (cost: number): void => learned.learn(what, cost / n) };
  };

  return {
    begin: (operation, query, route, trip) => {
      const charged = trip.caller?.budgets;
      if (!charged) return;
      if (operation === "embeddings") {
        const estimate = estimateVectors(query as EmbeddingsQuery, route.targets);
        trip.reservation = budgets.reserve(charged, estimate, trip.at);
        return;
      }
      const { estimate, learn } = pictures(operation, query as GenerationQuery, route, trip);
      const reservation = budgets.reserve(charged, estimate, trip.at);
      trip.reservation = {
        ...reservation,
        settle: (cost) => {
          if (cost !== undefined && !estimate.certain) learn(cost);
          reservation.settle(cost);
        },
      };
    },
    end: (trip, error) => {
      const { reservation, cost } = trip;
      if (!reservation) return;
      if (cost === undefined && error && isUnpaid(trip, error)) return reservation.release();
      reservation.settle(cost);
      if (cost === undefined) trip.estimate = reservation.estimate;
    },
  };
}

/** Ends of our own making, while an upstream may have been at work. */
const cutShort: ReadonlySet<string> = new Set(["client_closed", "internal", "storage_unavailable"]);

/** Nothing was paid, and nothing can have been. */
function isUnpaid({ attempts, mayHavePaid }: Trip, { row, details, fault }: GatewayError): boolean {
  if (mayHavePaid || details.paid) return false;
  if (attempts === 0 || details.unsent) return true;
  return !row.maybePaid && !cutShort.has(fault);
}
