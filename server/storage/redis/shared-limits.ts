/**
 * The counters behind limits and budgets that replicas share, in Redis. One script call takes everything that a request
 * needs, and also settles requests that have ended.
 */
import { ignoreRejection } from "../../lib/tasks.ts";
import type { RedisConnection, RedisScript } from "./client.ts";
import type {
  BudgetView,
  LimitsDemand,
  LimitsOutcome,
  LimitsReply,
  LimitsUpdate,
  RateDemand,
  Reserved,
} from "./limits-demand.ts";
import { separator, takeScript, updateScript } from "./limits-scripts.ts";

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

  /** `now`: Unix milliseconds. Absent: the clock of Redis. */
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
