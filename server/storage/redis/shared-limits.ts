/**
 * The counters behind limits and budgets that replicas share, in Redis. One script call takes everything that a request
 * needs, and also settles requests that have ended. Amounts of money are in nano-dollars.
 */
import { ignoreRejection } from "../../lib/tasks.ts";
import type { RedisConnection, RedisScript } from "./client.ts";
import { separator, takeScript, updateScript } from "./limits-scripts.ts";

/** A rate limit: a token bucket with the capacity of one minute. A part is 1/60,000 of an item. */
export interface RateDemand {
  readonly name: string;
  /** Items per minute. */
  readonly limit: number;
  /** Items to take. Settlement: items to take in addition, or, if negative, to refund. */
  readonly count: number;
  /** The parts that a full bucket has more, as far as this replica knows. Used if the shared bucket is lost. */
  readonly missing: number;
}

/** A concurrency limit, of which the request needs one slot. */
export interface SlotDemand {
  readonly name: string;
  readonly limit: number;
  /** How long this replica has waited for its turn. */
  readonly waitedMs: number;
}

/** What this replica knows of a budget. Redis keeps what is newer. */
export interface BudgetView {
  readonly name: string;
  /** The copy of the sum in the ledger's database. Within a period it only grows: the higher one is newer. */
  readonly spent: number;
  /** This replica's ended requests whose rows are not in `spent`. The one of the replica's latest call is newer. */
  readonly ended: number;
}

/** What is reserved in a budget, until it is closed, or not renewed any more. */
export interface OpenEntry {
  /** Of a request: no other one has it. Of a job: every replica reserves it under the same id. */
  readonly id: string;
  readonly nanos: number;
  /** The likely cost, and not the upper bound. */
  readonly isLikely: boolean;
  /** Of two states of an entry, the one with the higher version is newer. */
  readonly version: number;
}

export interface BudgetChange extends BudgetView {
  /** The ids of entries that have ended. */
  readonly closed: readonly string[];
  /** Entries that are open: renewed, or restored if they were lost. */
  readonly open: readonly OpenEntry[];
}

export interface BudgetDemand extends BudgetView {
  readonly limit: number;
  /** The upper bound of the cost, which is reserved if it fits. 0: unknown; the budget must not be used up. */
  readonly most: number;
  /** The likely cost, which is reserved if only that fits. One request at a time may reserve it. */
  readonly likely: number;
}

export interface LimitsDemand {
  /** Of the entries in the slots and in the budgets. No other request has it. Empty: only the state is read. */
  readonly id: string;
  /** The replica that asks. */
  readonly replica: string;
  readonly rates: readonly RateDemand[];
  readonly slots: readonly SlotDemand[];
  readonly budgets: readonly BudgetDemand[];
}

/**
 * `rate_exceeded` and `over_budget`: nothing was taken. `no_slot`: only from the rate limits was taken.
 */
export type LimitsOutcome = "taken" | "rate_exceeded" | "over_budget" | "no_slot";

export interface SlotState {
  /** Requests in flight on all replicas. */
  readonly inFlight: number;
  /** Free slots, without one for the replica that has waited longest. Negative: the limit was lowered. */
  readonly available: number;
}

/** What is reserved in a budget: the upper bound, the likely cost, or nothing, because it does not fit. */
export type Reserved = "maximum" | "likely" | "nothing";

/** A budget of all replicas. */
export interface BudgetState {
  readonly spent: number;
  readonly ended: number;
  /** The sum of the open entries. */
  readonly open: number;
  readonly reserved: Reserved;
}

/** An ended amount of a replica without news for a day, which counts no more. */
export interface ForgottenAmount {
  readonly replica: string;
  readonly nanos: number;
}

/** The state after the call, in the order of the demand. */
export interface LimitsReply {
  readonly outcome: LimitsOutcome;
  /** The missing parts of each bucket. */
  readonly missing: readonly number[];
  readonly slots: readonly SlotState[];
  readonly budgets: readonly BudgetState[];
  readonly forgotten: readonly ForgottenAmount[];
}

/** The entry of a slot in use. */
export interface SlotEntry {
  /** Of the concurrency limit. */
  readonly name: string;
  readonly id: string;
}

/** What has changed at this replica since its last call. */
export interface LimitsUpdate {
  readonly rates: readonly RateDemand[];
  /** Slots that requests have released. */
  readonly released: readonly SlotEntry[];
  /** Slots that are still in use: renewed, or restored if they were lost. */
  readonly renewed: readonly SlotEntry[];
  readonly budgets: readonly BudgetChange[];
  /** With the calls before it, Redis has all of this replica's budgets: those of an earlier process count no more. */
  readonly isComplete?: boolean;
}

const outcomes: readonly LimitsOutcome[] = ["taken", "rate_exceeded", "over_budget", "no_slot"];
const reservations: readonly Reserved[] = ["maximum", "likely", "nothing"];

const rateKey = (name: string): string => `vexel:rate:${name}`;
const slotsKey = (name: string): string => `vexel:slots:${name}`;
const firstKey = (name: string): string => `vexel:slots-first:${name}`;
const budgetKeys = (name: string): readonly string[] => [
  `vexel:budget:${name}`,
  `vexel:budget-leases:${name}`,
  `vexel:budget-ended:${name}`,
];

/** The data folder of a process, and how often a process has been started on it. */
export interface FolderEpoch {
  readonly name: string;
  readonly epoch: number;
}

export class SharedLimits {
  readonly #redis: RedisConnection;
  readonly #folder: FolderEpoch;
  readonly #now: (() => number) | undefined;
  /** Of the calls of this process: of two calls, the one with the higher number knows more. */
  #number = 0;
  /** The number of the last complete renewal that Redis has confirmed. */
  #renewed = -1;

  /** `now`: Unix milliseconds. The default is the clock of Redis. */
  constructor(redis: RedisConnection, folder: FolderEpoch, now?: () => number) {
    this.#redis = redis;
    this.#folder = folder;
    this.#now = now;
    // A server that was restarted knows no scripts. They are loaded before the first request uses them, so that the
    // calls of this replica stay in order.
    const load = (): void => {
      for (const { text } of [takeScript, updateScript])
        ignoreRejection(redis.run((client) => client.send("SCRIPT", ["LOAD", text])));
    };
    if (redis.isAvailable) load();
    redis.onChange(({ isAvailable }) => {
      if (isAvailable) load();
    });
  }

  /** Takes from all limits and budgets in one step, after the update. */
  async take(
    { id, replica, rates, slots, budgets }: LimitsDemand,
    update: LimitsUpdate = nothing,
  ): Promise<LimitsReply> {
    const call = this.#start(update);
    call.args.push(id, replica, rates.length, slots.length, budgets.length);
    addRates(call, rates);
    for (const { name, limit, waitedMs } of slots) {
      call.keys.push(slotsKey(name), firstKey(name));
      call.args.push(limit, waitedMs);
    }
    for (const budget of budgets) {
      addBudget(call, budget);
      call.args.push(budget.limit, budget.most, budget.likely);
    }
    const reply = (await this.#evaluate(takeScript, call)) as unknown[];
    let at = 0;
    const next = (): number => Number(reply[at++]);
    const state = {
      outcome: outcomes[next()] ?? "no_slot",
      missing: rates.map(next),
      slots: slots.map(() => ({ inFlight: next(), available: next() })),
      budgets: budgets.map(() => ({
        spent: next(),
        ended: next(),
        open: next(),
        reserved: reservations[next()] ?? "nothing",
      })),
    };
    const forgotten = [];
    while (at < reply.length) forgotten.push({ replica: String(reply[at++]), nanos: next() });
    return { ...state, forgotten };
  }

  /**
   * Corrects rate limits, releases and renews slots, and sets what this replica knows of budgets. Returns whether Redis
   * has lost what it had confirmed before.
   */
  async update(update: LimitsUpdate): Promise<{ readonly isLost: boolean }> {
    const call = this.#start(update);
    const number = this.#number;
    const renewed = Number(await this.#evaluate(updateScript, call));
    if (!update.isComplete) return { isLost: false };
    const isLost = renewed < this.#renewed;
    this.#renewed = number;
    return { isLost };
  }

  #start(update: LimitsUpdate): Call {
    const { name, epoch } = this.#folder;
    const call: Call = { keys: [], args: [this.#now?.() ?? "", name, epoch, ++this.#number] };
    addUpdate(call, update);
    return call;
  }

  #evaluate(script: RedisScript, { keys, args }: Call): Promise<unknown> {
    return this.#redis.evaluate(script, keys, [`${args.join(separator)}${separator}`]);
  }
}

const nothing: LimitsUpdate = { rates: [], released: [], renewed: [], budgets: [] };

/** In the order in which the scripts read them. */
interface Call {
  readonly keys: string[];
  readonly args: (string | number)[];
}

function addUpdate(
  call: Call,
  { rates, released, renewed, budgets, isComplete = false }: LimitsUpdate,
): void {
  const { keys, args } = call;
  args.push(rates.length, released.length, renewed.length, budgets.length, isComplete ? 1 : 0);
  addRates(call, rates);
  for (const { name, id } of [...released, ...renewed]) {
    keys.push(slotsKey(name));
    args.push(id);
  }
  for (const budget of budgets) {
    addBudget(call, budget);
    args.push(budget.closed.length, ...budget.closed, budget.open.length);
    for (const { id, nanos, isLikely, version } of budget.open)
      args.push(id, nanos, isLikely ? 1 : 0, version);
  }
}

function addBudget({ keys, args }: Call, { name, spent, ended }: BudgetView): void {
  keys.push(...budgetKeys(name));
  args.push(spent, ended);
}

function addRates({ keys, args }: Call, rates: readonly RateDemand[]): void {
  for (const { name, limit, count, missing } of rates) {
    keys.push(rateKey(name));
    args.push(limit, count, missing);
  }
}
