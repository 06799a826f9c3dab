/** Between a call and the budgets it is charged to: holds what it may cost before, and settles what it did cost after. */

import type { HeldCall } from "../ledger/ledger.ts";
import type { Budgeted, Reservation } from "../lib/budget.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import type { Signal } from "../lib/signal.ts";
import type { Caller, Route } from "../request/caller.ts";
import type { Operation } from "../request/operation.ts";
import type { Trip } from "../request/request-record.ts";
import type { EmbeddingsQuery, GenerationQuery } from "../upstream/contract.ts";
import { mayHaveBeenBilled } from "../upstream/may-have-been-billed.ts";
import { isOnlyHeld, type MoneyQueue } from "./budget-queue.ts";
import type { Budgets, Estimate } from "./budgets.ts";
import { estimatePictures, estimateVectors, type Picturing } from "./estimate-cost.ts";
import { LearnedCosts } from "./learned-costs.ts";

export interface SpendingOptions {
  readonly budgets: Budgets;
  /** What a target can draw. */
  readonly traits: Picturing["traits"];
  /** Calls under way, for the next process should this one be killed. */
  readonly held: {
    /** `soon`: within this turn of the event loop will do. */
    begin(call: HeldCall, soon: boolean): void;
    end(requestId: string): void;
  };
  /** Those who wait for what is only held. */
  readonly queue: MoneyQueue;
}

export interface Spending {
  /**
   * Before anyone is asked. Does nothing where the key has no budget; throws GatewayError where there is not enough. A promise:
   * what is missing is only held for others, and is waited for, so many milliseconds. `from`: the caller, looked at only by those who wait.
   */
  begin(
    operation: Operation,
    query: unknown,
    route: Route,
    trip: Trip,
    from: { readonly signal: Signal },
  ): Promise<number> | undefined;
  /** When the call is over and its cost, if it is known, is in the trip. Before its row is made. */
  end(trip: Trip, error?: GatewayError): void;
}

export function createSpending({ budgets, traits, held, queue }: SpendingOptions): Spending {
  const learned = new LearnedCosts();

  /** A price that is told only afterwards may be the last time's. */
  const pictures = (
    operation: Picturing["operation"],
    query: GenerationQuery,
    route: Route,
    trip: Trip,
  ) => {
    const { targets, id, maxImages } = route;
    // What nobody may ask for is not drawn: that is told by a stage, and first.
    if ((query.options.n ?? 1) > maxImages) return { estimate: free, learn: () => undefined };
    const policy = trip.caller?.parameters ?? route.parameters ?? "adapt";
    const listed = estimatePictures({ operation, query, targets, policy, traits });
    const { n = 1, size, quality } = query.options;
    const what = JSON.stringify([id, operation, size, quality]).slice(0, 500);
    const learns = listed.guessed || !listed.certain;
    const before = (learns && learned.of(what)) || 0;
    const estimate: Estimate = before > 0 ? atLeast(before * n, listed) : listed;
    const learn = (cost: number): void => {
      if (learns) learned.learn(what, cost / n);
    };
    return { estimate, learn };
  };

  const reserve = (
    operation: Operation,
    query: unknown,
    route: Route,
    trip: Trip,
    charged: readonly Budgeted[],
  ): Reservation => {
    if (operation === "embeddings") {
      const estimate = estimateVectors(query as EmbeddingsQuery, route.targets);
      return budgets.reserve(charged, estimate, trip.at);
    }
    const { estimate, learn } = pictures(operation, query as GenerationQuery, route, trip);
    const reservation = budgets.reserve(charged, estimate, trip.at);
    return {
      estimate: reservation.estimate,
      settle: (cost, besides) => {
        if (cost !== undefined) learn(cost);
        reservation.settle(cost, besides);
      },
      release: () => reservation.release(),
    };
  };

  const begun = (reservation: Reservation, trip: Trip, caller: Caller, soon: boolean): void => {
    trip.reservation = reservation;
    const { estimate } = reservation;
    if (!estimate) return;
    const { requestId, at, endpoint, model = null } = trip;
    const { id: keyId, project = null } = caller;
    held.begin({ requestId, at, endpoint, keyId, model, project, estimate }, soon);
    // After the row is written.
    trip.whenOver(() => held.end(trip.requestId));
  };

  return {
    begin: (operation, query, route, trip, from) => {
      const { caller } = trip;
      if (!caller?.budgets) return undefined;
      const charged = caller.budgets;
      // A picture is ordered at once and costs a thousand times more.
      const soon = operation === "embeddings";
      try {
        begun(reserve(operation, query, route, trip, charged), trip, caller, soon);
        return undefined;
      } catch (refusal) {
        // Pictures are drawn for a minute, which is too long to wait for what they leave over.
        if (!soon || !isOnlyHeld(refusal)) throw refusal;
        const estimate = estimateVectors(query as EmbeddingsQuery, route.targets);
        const hold = (): void =>
          begun(budgets.reserve(charged, estimate, trip.at), trip, caller, soon);
        return queue.wait({ charged, hold, refusal, signal: from.signal });
      }
    },
    end: (trip, error) => {
      settle(trip, error);
      if (queue.size > 0 && trip.caller?.budgets) queue.freed(trip.caller.budgets);
    },
  };
}

/** What the call did cost, or may have cost, takes the place of what was held for it. */
function settle(trip: Trip, error?: GatewayError): void {
  const { reservation, cost } = trip;
  if (!reservation) return;
  const { estimate } = reservation;
  const isLastPaid = !error || mayHaveBeenBilled(trip.attempts, error);
  const isAnyPaid = isLastPaid || trip.mayHavePaid || trip.unanswered > 0;
  if (cost === undefined && !isAnyPaid) {
    reservation.release();
    return;
  }
  const before = triesBefore(trip);
  // How often it may have been paid for beside the cost that is known. Of an unknown cost the first is what is settled anyway.
  const presumed =
    cost === undefined
      ? Math.max(1, before + (isLastPaid ? 1 : 0)) + trip.reordered / trip.ordered
      : before + trip.unanswered / trip.ordered;
  const besides = cost === undefined ? presumed - 1 : presumed;
  reservation.settle(cost, besides * (estimate ?? 0));
  if (presumed > 0 && estimate !== undefined) trip.estimate = presumed * estimate;
}

const atLeast = (before: number, { dollars = 0, most = dollars, certain }: Estimate): Estimate => ({
  dollars: Math.max(dollars, before),
  most: Math.max(most, before),
  certain,
});

const free: Estimate = { dollars: 0, certain: true };

/**
 * How often the whole call may have been paid for before its last try. Of a call that was cut, each part is a question of its own, and
 * only those that were asked again count, as a share of the whole. Tries for some of the pictures are counted by picture. A refusal among the tries that cost nothing is not told apart:
 * rather too much than too little.
 */
const triesBefore = ({ mayHavePaid, attempts, completing, questions }: Trip): number =>
  mayHavePaid && questions > 0 ? Math.max(0, (attempts - completing) / questions - 1) : 0;
