/**
 * The limits and budgets that replicas share, as one replica uses them: one call takes everything that a request needs.
 * What requests release at their end is sent with the call of the next request, or shortly afterwards, without a wait.
 * Slots and reservations are renewed while their requests run.
 */
import type { Rate } from "../../contract/limits-and-budgets.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import type { Timers } from "../lib/timers.ts";
import type {
  BudgetDemand,
  BudgetState,
  ForgottenAmount,
  LimitsDemand,
  LimitsOutcome,
  LimitsReply,
  RateDemand,
  SharedLimits,
  SlotEntry,
} from "../storage/redis/shared-limits.ts";
import { AccountReports, pagesOf, type ReportedUpdate } from "./account-reports.ts";
import type { ConcurrencySlots, SlotLease } from "./concurrency-slots.ts";
import { type LimitScope, type Shortage, shortage } from "./limiter.ts";
import { type Demand, SharedRateCounter } from "./rate-limit-counters.ts";
import { isSharedLimit, type SharedSlots } from "./shared-slots.ts";

interface SharedLimiterOptions {
  readonly limits: Pick<SharedLimits, "take" | "update">;
  /** A name of this process that no other process has. */
  readonly replica: string;
  /** False: the shared limits are unreachable, and each replica applies its share. */
  readonly isReachable: () => boolean;
  /** The number of replicas, as last known. */
  readonly replicas: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly timers: Timers;
  /** From 0 to 1. */
  readonly random: () => number;
  /** A call failed. */
  readonly onError: (error: unknown) => void;
  /** An ended amount of a replica without news counts no more. */
  readonly onForgotten: (amount: ForgottenAmount & { readonly budget: string }) => void;
}

interface SharedDemand {
  readonly scopes: readonly LimitScope[];
  readonly demand: Demand;
  /** Slots that were acquired in this process. Those that are not shared are ignored. */
  readonly lease?: SlotLease | undefined;
  readonly budgets?: RequestBudgets | undefined;
}

/** The budgets of a request, for the call that takes its limits and its budgets together. */
export interface RequestBudgets {
  /** As of now: called when the call is sent. */
  demands(): readonly BudgetDemand[];
  /** The cost is reserved under this id. */
  onReserved(id: string, demands: readonly BudgetDemand[], states: readonly BudgetState[]): void;
  /** The error of a request that does not fit into a budget. */
  refusal(demands: readonly BudgetDemand[], states: readonly BudgetState[]): GatewayError;
}

/** What a request got. */
export interface SharedGrant {
  readonly outcome: Exclude<LimitsOutcome, "over_budget">;
  /** The rate limit that the request exceeds. */
  readonly exceeded: Shortage | undefined;
}

/** What has changed since the last call, beside the budgets. */
interface Pending {
  readonly rates: RateDemand[];
  readonly released: SlotEntry[];
}

/** After an error, the shares of the limits apply for this time. */
const retryMs = 100;
/** After this time, an update is sent in a call of its own instead of with the call of a request. */
const updateMs = 2;
/** The most changed budgets that the call of a request carries. */
const takeAlong = 20;

export class SharedLimiter {
  readonly #options: SharedLimiterOptions;
  #count = 0;
  /** Not sent yet. Undefined if nothing. */
  #pending: Pending | undefined;
  #isTimerStarted = false;
  /** Slots that requests of this process use, or have used since the last renewal, by name. */
  readonly #slotsInUse = new Map<string, SharedSlots>();
  #sent: Promise<void> = Promise.resolve();
  /** When a call last failed. Undefined if a later one has succeeded. */
  #failedAt: number | undefined;
  /** The accounts of budgets. */
  readonly accounts: AccountReports;

  constructor(options: SharedLimiterOptions) {
    this.#options = options;
    this.accounts = new AccountReports({
      isReachable: () => this.isReachable,
      isConnected: options.isReachable,
      replicas: () => this.replicas,
      clock: options.clock,
      onChange: () => this.#startTimer(),
    });
  }

  get isReachable(): boolean {
    if (this.#failedAt !== undefined && this.clock() - this.#failedAt < retryMs) return false;
    return this.#options.isReachable();
  }

  get replicas(): number {
    return Math.max(1, this.#options.replicas());
  }

  clock(): number {
    return this.#options.clock();
  }

  random(): number {
    return this.#options.random();
  }

  /** The number of slots and reservations that are renewed. */
  get leases(): number {
    let slots = 0;
    for (const { inFlight } of this.#slotsInUse.values()) slots += inFlight;
    return slots + this.accounts.entries;
  }

  /**
   * Takes everything in one call. Undefined if there was no reply, and this replica applies its share. Throws
   * GatewayError if a budget is too small.
   */
  async take({ scopes, demand, lease, budgets }: SharedDemand): Promise<SharedGrant | undefined> {
    const at = this.clock();
    const id = lease?.id ?? this.newId();
    const rates = sharedRates(scopes);
    const slots = sharedSlots(lease?.slots ?? []);
    if (lease) lease.isGranted = false;
    const demands = budgets?.demands() ?? [];
    const reply = await this.#take({
      id,
      rates: rates.map(({ rate, counter }) => counter.demand(demand[rate], at)),
      slots: slots.map((each) => each.demand(at)),
      budgets: demands,
    });
    if (!reply) {
      for (const each of slots) each.fail();
      return undefined;
    }
    if (this.#failedAt !== undefined) this.recover();
    const { outcome } = reply;
    const isTaken = outcome === "taken";
    if (lease) lease.isGranted = isTaken;
    for (const [i, { counter }] of rates.entries()) counter.setMissing(reply.missing[i] ?? 0, at);
    for (const [i, state] of reply.slots.entries()) slots[i]?.accept(state, isTaken, this.clock());
    if (isTaken) budgets?.onReserved(id, demands, reply.budgets);
    if (outcome === "over_budget") throw budgets?.refusal(demands, reply.budgets);
    // At once: a later reply changes the state of the same limits.
    const exceeded = outcome === "rate_exceeded" ? shortage(scopes, demand, at) : undefined;
    return { outcome, exceeded };
  }

  /** Reads the state of limits, for display or for a choice. */
  async read(scopes: readonly LimitScope[], ...more: readonly ConcurrencySlots[]): Promise<void> {
    const at = this.clock();
    const rates = sharedRates(scopes);
    const slots = sharedSlots([...scopes.map((scope) => scope.slots), ...more]);
    if (!this.isReachable || rates.length + slots.length === 0) return;
    const reply = await this.#take({
      rates: rates.map(({ counter }) => counter.demand(0, at)),
      slots: slots.map(({ name, limit }) => ({ name, limit, waitedMs: 0 })),
    });
    if (!reply) return;
    for (const [i, { counter }] of rates.entries()) counter.setMissing(reply.missing[i] ?? 0, at);
    for (const [i, state] of reply.slots.entries()) slots[i]?.read(state, at);
  }

  /** Reads budgets, for display. Undefined if there was no reply. */
  async readBudgets(demands: readonly BudgetDemand[]): Promise<readonly BudgetState[] | undefined> {
    if (!this.isReachable || demands.length === 0) return undefined;
    return (await this.#take({ budgets: demands }))?.budgets;
  }

  settleRate(rate: RateDemand): void {
    this.#changed().rates.push(rate);
  }

  /** `isScarce`: other requests probably wait for the slot, so it is released at once. */
  releaseSlot(slot: SlotEntry, isScarce: boolean): void {
    this.#changed().released.push(slot);
    if (isScarce) queueMicrotask(() => this.#flush());
  }

  /** The entries of these slots are renewed while requests use them. */
  renewInUse(slots: SharedSlots): void {
    this.#slotsInUse.set(slots.name, slots);
  }

  /** The shared limits are reachable again. */
  recover(): void {
    this.#failedAt = undefined;
    this.renew();
  }

  /** Renews the slots and the budgets in use. To be called at the start, and every third of a lease. */
  renew(): void {
    const renewed: SlotEntry[] = [];
    for (const [name, slots] of this.#slotsInUse) {
      if (slots.inFlight === 0) this.#slotsInUse.delete(name);
      renewed.push(...slots.entries());
    }
    const updates = pagesOf({ rates: [], released: [], renewed, budgets: this.accounts.due() });
    for (const [page, update] of updates.entries())
      this.#update({ ...update, isComplete: page === updates.length - 1 });
  }

  /** Resolves when everything that requests have released is sent. */
  async close(): Promise<void> {
    this.#flush();
    await this.#sent;
  }

  /** Slots and reservations that could not be returned expire. Budgets are renewed. */
  #fail(error: unknown): undefined {
    this.#failedAt = this.clock();
    this.#options.onError(error);
  }

  /** An id that no other lease and no other reservation has, at any replica. */
  newId(): string {
    return `${this.#options.replica}:${++this.#count}`;
  }

  #changed(): Pending {
    this.#pending ??= { rates: [], released: [] };
    this.#startTimer();
    return this.#pending;
  }

  #startTimer(): void {
    if (this.#isTimerStarted) return;
    this.#isTimerStarted = true;
    this.#options.timers.start(updateMs, () => {
      this.#isTimerStarted = false;
      this.#flush();
    });
  }

  #takePending(): ReportedUpdate | undefined {
    if (!this.#pending && this.accounts.pending === 0) return undefined;
    const { rates, released } = this.#pending ?? { rates: [], released: [] };
    this.#pending = undefined;
    return { rates, released, renewed: [], budgets: this.accounts.takePending() };
  }

  #flush(): void {
    const pending = this.#takePending();
    if (pending) for (const update of pagesOf(pending)) this.#update(update);
  }

  /** Without an id, the state is only read. */
  async #take(demand: Partial<LimitsDemand>): Promise<LimitsReply | undefined> {
    if (this.accounts.pending > takeAlong) this.#flush();
    const update = this.#takePending();
    const sentAt = this.clock();
    const { limits, replica } = this.#options;
    const call = { id: "", replica, rates: [], slots: [], budgets: [], ...demand };
    const taking = limits.take(call, update);
    const reply = await taking.catch((error) => this.#fail(error));
    if (!reply) return undefined;
    if (update) this.accounts.confirm(update.budgets, sentAt);
    const budget = call.budgets.map(({ name }) => name).join(", ");
    for (const amount of reply.forgotten) this.#options.onForgotten({ ...amount, budget });
    return reply;
  }

  #update(update: ReportedUpdate): void {
    const sentAt = this.clock();
    const run = async (): Promise<void> => {
      const { isLost } = await this.#options.limits.update(update);
      this.accounts.confirm(update.budgets, sentAt);
      if (!isLost) return;
      this.accounts.resendAll();
      this.renew();
    };
    this.#sent = run().catch((error) => this.#fail(error));
  }
}

const sharedRates = (
  scopes: readonly LimitScope[],
): readonly { readonly rate: Rate; readonly counter: SharedRateCounter }[] =>
  scopes.flatMap(({ buckets }) =>
    buckets.flatMap(({ rate, bucket }) =>
      bucket instanceof SharedRateCounter ? { rate, counter: bucket } : [],
    ),
  );

const sharedSlots = (slots: readonly ConcurrencySlots[]): readonly SharedSlots[] =>
  slots.filter(isSharedLimit);
