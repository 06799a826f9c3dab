/**
 * The counters behind limits and budgets that replicas share, in Redis. One script call takes everything that a request
 * needs, and also settles requests that have ended.
 */
import { ignoreRejection } from "../../lib/tasks.ts";
import type { RedisConnection, RedisScript } from "./client.ts";
import {
  type HeldReservation,
  type HeldSlot,
  type LimitsDemand,
  type LimitsOutcome,
  type LimitsReply,
  type LimitsSettlement,
  leaseMs,
  type RateDemand,
  type Reserved,
} from "./limits-demand.ts";
import {
  renewScript,
  separator,
  settleScript,
  slotNoticeChannel,
  takeScript,
} from "./limits-scripts.ts";

const outcomes: readonly LimitsOutcome[] = ["taken", "rate_exceeded", "over_budget", "no_slot"];
const reservations: readonly Reserved[] = ["maximum", "likely", "nothing"];

const rateKey = (name: string): string => `vexel:rate:${name}`;
const slotsPrefix = "vexel:slots:";
const slotsKey = (name: string): string => `${slotsPrefix}${name}`;
const waitingKey = (name: string): string => `vexel:waiting:${name}`;
const budgetKey = (name: string): string => `vexel:budget:${name}`;
const holdsKey = (name: string): string => `vexel:reserved:${name}`;

/** The member of a reservation in its sorted set. */
const memberOf = ({ hold, dollars, reservation }: HeldReservation): string =>
  `${hold} ${dollars} ${reservation === "likely" ? 1 : 0}`;

export class SharedLimits {
  readonly #redis: RedisConnection;
  readonly #now: (() => number) | undefined;

  /** `now`: Unix milliseconds. Absent: the clock of Redis. */
  constructor(redis: RedisConnection, now?: () => number) {
    this.#redis = redis;
    this.#now = now;
    // A server that was restarted knows no scripts. They are loaded before the first request uses them, so that the
    // calls of this replica stay in order.
    const load = (): void => {
      for (const { text } of [takeScript, settleScript, renewScript])
        ignoreRejection(redis.run((client) => client.send("SCRIPT", ["LOAD", text])));
    };
    if (redis.isAvailable) load();
    redis.onChange(({ isAvailable }) => {
      if (isAvailable) load();
    });
  }

  /** Takes from all limits and budgets in one step, after the settlement of earlier requests. */
  async take(
    { hold, replica, rates, slots, budgets }: LimitsDemand,
    settlement: LimitsSettlement = nothing,
  ): Promise<LimitsReply> {
    const { keys, args } = settlementArgs(settlement);
    args.push(hold, replica, leaseMs, rates.length, slots.length, budgets.length);
    addRates(rates, keys, args);
    for (const { name, limit } of slots) {
      keys.push(slotsKey(name), waitingKey(name));
      args.push(limit);
    }
    for (const { name, limit, maxDollars, dollars, spent } of budgets) {
      keys.push(budgetKey(name), holdsKey(name));
      args.push(limit, maxDollars, dollars, spent);
    }
    const reply = (await this.#evaluate(takeScript, keys, args)) as unknown[];
    let at = 0;
    const next = (): number => Number(reply[at++]);
    return {
      outcome: outcomes[next()] ?? "no_slot",
      missing: rates.map(next),
      slots: slots.map(() => ({ inFlight: next(), available: next() })),
      budgets: budgets.map(() => ({
        spent: next(),
        reserved: next(),
        reservation: reservations[next()] ?? "nothing",
      })),
    };
  }

  /** Corrects rate limits, releases slots, and replaces reservations by actual costs. */
  async settle(settlement: LimitsSettlement): Promise<void> {
    const { keys, args } = settlementArgs(settlement);
    await this.#evaluate(settleScript, keys, args);
  }

  /** Slots and reservations expire if they are not renewed for `leaseMs`. Renewal also restores lost ones. */
  async renew(
    slots: readonly HeldSlot[],
    reservationsHeld: readonly HeldReservation[],
  ): Promise<void> {
    const keys: string[] = [];
    const args: (string | number)[] = [leaseMs, slots.length, reservationsHeld.length];
    for (const { name, hold } of slots) {
      keys.push(slotsKey(name));
      args.push(hold);
    }
    for (const held of reservationsHeld) {
      keys.push(budgetKey(held.name), holdsKey(held.name));
      args.push(memberOf(held));
    }
    await this.#evaluate(renewScript, keys, args);
  }

  #evaluate(
    script: RedisScript,
    keys: readonly string[],
    args: (string | number)[],
  ): Promise<unknown> {
    args.unshift(this.#now?.() ?? "");
    return this.#redis.evaluate(script, keys, [`${args.join(separator)}${separator}`]);
  }
}

const nothing: LimitsSettlement = { rates: [], slots: [], budgets: [] };

function settlementArgs({ rates, slots, budgets }: LimitsSettlement): {
  readonly keys: string[];
  readonly args: (string | number)[];
} {
  const keys: string[] = [];
  const args: (string | number)[] = [rates.length, slots.length, budgets.length];
  addRates(rates, keys, args);
  for (const { name, hold } of slots) {
    keys.push(slotsKey(name), waitingKey(name));
    args.push(hold);
  }
  for (const { name, held, dollars } of budgets) {
    keys.push(budgetKey(name), holdsKey(name));
    args.push(held ? memberOf(held) : "", dollars);
  }
  return { keys, args };
}

function addRates(rates: readonly RateDemand[], keys: string[], args: (string | number)[]): void {
  for (const { name, limit, count, missing } of rates) {
    keys.push(rateKey(name));
    args.push(limit, count, missing);
  }
}

/**
 * `onNotice`: a slot of this concurrency limit was released, for which this replica waits. Returns a function that ends
 * the subscription.
 */
export function watchSlotNotices(
  redis: RedisConnection,
  replica: string,
  onNotice: (name: string) => void,
): () => void {
  const subscription = redis.another((client) =>
    client.subscribe(`${slotNoticeChannel}${replica}`, (key) =>
      onNotice(key.slice(slotsPrefix.length)),
    ),
  );
  return () => subscription.close();
}
