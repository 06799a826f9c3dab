/**
 * The limits and budgets that replicas share, as one replica uses them: one call takes everything that a request needs.
 * What requests release at their end is sent with the call of the next request, or shortly afterwards, without a wait.
 * Slots and reservations are renewed while their requests run.
 */
import type { GatewayError } from "../lib/gateway-error.ts";
import type { Timers } from "../lib/timers.ts";
import type {
  BudgetDemand,
  BudgetSettlement,
  BudgetState,
  HeldReservation,
  HeldSlot,
  LimitsOutcome,
  LimitsSettlement,
  RateDemand,
  SlotDemand,
} from "../storage/redis/limits-demand.ts";
import type { SharedLimits } from "../storage/redis/shared-limits.ts";
import type { ConcurrencySlots, SharedSlots } from "./concurrency-slots.ts";
import { type LimitScope, type Shortage, shortage } from "./limiter.ts";
import type { Demand, Rate, SharedRate } from "./rate-limit-counters.ts";

interface SharedLimiterOptions {
  readonly limits: Pick<SharedLimits, "take" | "settle" | "renew">;
  /** A name of this process that no other process has. */
  readonly replica: string;
  /** False: the shared limits are unreachable, and each replica applies its share. */
  readonly isReachable: () => boolean;
  /** The number of replicas, as last known. */
  readonly replicas: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly timers: Timers;
  /** A call failed. */
  readonly onError: (error: unknown) => void;
}

interface SharedDemand {
  readonly scopes: readonly LimitScope[];
  readonly demand: Demand;
  /** One slot of each, which was acquired in this process. Slots that are not shared are ignored. */
  readonly slots: readonly ConcurrencySlots[];
  readonly budgets?: RequestBudgets | undefined;
}

/** The budgets of a request, for the call that takes its limits and its budgets together. */
export interface RequestBudgets {
  readonly demands: readonly BudgetDemand[];
  /** The cost is reserved under this name. */
  keep(hold: string, states: readonly BudgetState[]): void;
  /** The error of a request that does not fit into a budget. */
  refusal(states: readonly BudgetState[]): GatewayError;
}

/** What a request got. */
export interface SharedGrant {
  readonly outcome: Exclude<LimitsOutcome, "over_budget">;
  /** The rate limit that the request exceeds. */
  readonly exceeded: Shortage | undefined;
}

interface PendingSettlement extends LimitsSettlement {
  readonly rates: RateDemand[];
  readonly slots: HeldSlot[];
  readonly budgets: BudgetSettlement[];
}

/** After an error, the shares of the limits apply for this time. */
const retryMs = 100;
/** The longest delay of a settlement that no call takes along. */
const settleMs = 2;
/** Other replicas have older costs from the ledger, which they read every two seconds. */
const unreportedMs = 3000;
/** The most slots and reservations that one call renews. */
const renewAtOnce = 500;

export class SharedLimiter {
  readonly #options: SharedLimiterOptions;
  #count = 0;
  /** Not sent yet. Undefined: nothing. */
  #settlement: PendingSettlement | undefined;
  #isTimerStarted = false;
  /** Slots that requests of this process hold or wait for, and those of the time since the last renewal, by name. */
  readonly #slots = new Map<string, SharedSlots>();
  #sent: Promise<void> = Promise.resolve();
  /** Called when a slot that queued requests lack may be free. */
  onFreeSlot: () => void = () => undefined;
  /** When a call last failed. Undefined: a later one has succeeded. */
  #failedAt: number | undefined;
  /** When the shared limits became reachable again. */
  recoveredAt = Number.NEGATIVE_INFINITY;
  readonly #reservations = new Set<HeldReservation>();
  /** Costs of the last seconds, of requests that ended while the shared budgets were unreachable. */
  readonly #unreported: { readonly settlement: BudgetSettlement; readonly at: number }[] = [];

  constructor(options: SharedLimiterOptions) {
    this.#options = options;
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

  /** The number of slots and reservations that are renewed. */
  get held(): number {
    let slots = 0;
    for (const { inFlight } of this.#slots.values()) slots += inFlight;
    return slots + this.#reservations.size;
  }

  /**
   * Takes everything in one call. Undefined: there was no reply, and this replica applies its share. Throws GatewayError
   * if a budget is too small.
   */
  async take({ scopes, demand, slots, budgets }: SharedDemand): Promise<SharedGrant | undefined> {
    const { limits, replica } = this.#options;
    const at = this.clock();
    const hold = this.#newHold();
    const taken = sharedRates(scopes);
    const rates = taken.map(({ rate, shared }) => shared.demand(demand[rate], at));
    const shared = slots.flatMap((one) => one.shared ?? []);
    const slotDemands: SlotDemand[] = shared.map((one) => one.demand());
    const call = { hold, replica, rates, slots: slotDemands, budgets: budgets?.demands ?? [] };
    const settlement = this.#takeSettlement();
    const reply = await limits.take(call, settlement).catch((e) => this.#fail(e));
    if (!reply) {
      for (const one of shared) one.fail();
      return undefined;
    }
    if (this.#failedAt !== undefined) this.recover();
    const { outcome } = reply;
    const slotHold = outcome === "taken" ? hold : undefined;
    for (const [i, { shared: rate }] of taken.entries()) rate.accept(reply.missing[i] ?? 0, at);
    for (const [i, state] of reply.slots.entries()) shared[i]?.accept(state, slotHold, at);
    if (outcome === "taken") budgets?.keep(hold, reply.budgets);
    if (outcome === "over_budget") throw budgets?.refusal(reply.budgets);
    // At once: a later reply changes the state of the same limits.
    const exceeded = outcome === "rate_exceeded" ? shortage(scopes, demand, at) : undefined;
    return { outcome, exceeded };
  }

  /** Reads the state of limits, for display or to find a free slot. */
  async read(scopes: readonly LimitScope[], ...slots: readonly ConcurrencySlots[]): Promise<void> {
    const { limits, replica } = this.#options;
    const at = this.clock();
    const rates = sharedRates(scopes);
    const shared = [...scopes.map((scope) => scope.slots), ...slots].flatMap(
      (one) => one.shared ?? [],
    );
    if (!this.isReachable || rates.length + shared.length === 0) return;
    const demand = {
      hold: "",
      replica,
      rates: rates.map(({ shared: rate }) => rate.demand(0, at)),
      slots: shared.map(({ name, sharedLimit }) => ({ name, limit: sharedLimit })),
      budgets: [],
    };
    const settlement = this.#takeSettlement();
    const reply = await limits.take(demand, settlement).catch((e) => this.#fail(e));
    if (!reply) return;
    for (const [i, { shared: rate }] of rates.entries()) rate.accept(reply.missing[i] ?? 0, at);
    for (const [i, state] of reply.slots.entries()) shared[i]?.read(state, at);
  }

  settleRate(rate: RateDemand): void {
    this.#pending().rates.push(rate);
  }

  /** `isLacking`: other requests probably wait for the slot, so it is released at once. */
  releaseSlot(slot: HeldSlot, isLacking: boolean): void {
    this.#pending().slots.push(slot);
    if (isLacking) queueMicrotask(() => this.#flush());
  }

  /** Renews the reservation until it is settled. */
  keepReservation(reservation: HeldReservation): void {
    this.#reservations.add(reservation);
  }

  /** Reserves the amount, unless a reservation of the same name exists. It is never refused. */
  renewReservation(reservation: HeldReservation): void {
    this.#send(this.#options.limits.renew([], [reservation]));
  }

  settleBudget(settlement: BudgetSettlement): void {
    if (settlement.held) this.#reservations.delete(settlement.held);
    if (this.#options.isReachable()) this.#pending().budgets.push(settlement);
    else if (settlement.dollars > 0) this.#reportLater(settlement);
  }

  /** The slots are renewed while requests hold or wait for them. */
  keep(slots: SharedSlots): void {
    this.#slots.set(slots.name, slots);
  }

  /** The number of concurrency limits whose slots are kept. */
  get kept(): number {
    return this.#slots.size;
  }

  /** Another replica released a slot. */
  onReleased(name: string): void {
    const slots = this.#slots.get(name);
    if (!slots || slots.waiting === 0) return;
    slots.assumeFree();
    this.onFreeSlot();
  }

  /** The shared limits are reachable again: reports the slots and reservations in use, and costs that the ledger may lack. */
  recover(): void {
    const now = this.clock();
    this.recoveredAt = now;
    this.#failedAt = undefined;
    for (const { settlement, at } of this.#unreported.splice(0))
      if (now - at < unreportedMs) this.#pending().budgets.push(settlement);
    this.renew();
  }

  /** Renews the slots and reservations of the requests in flight. To be called every third of their lease. */
  renew(): void {
    const newHold = (): string => this.#newHold();
    const slots: HeldSlot[] = [];
    for (const [name, one] of this.#slots) {
      if (one.inFlight === 0 && one.waiting === 0) this.#slots.delete(name);
      for (const hold of one.held(newHold)) slots.push({ name, hold });
    }
    const reservations = [...this.#reservations];
    for (let from = 0; from < Math.max(slots.length, reservations.length); from += renewAtOnce) {
      const to = from + renewAtOnce;
      this.#send(this.#options.limits.renew(slots.slice(from, to), reservations.slice(from, to)));
    }
  }

  /** Resolves when everything that requests have released is sent. */
  async close(): Promise<void> {
    this.#flush();
    await this.#sent;
  }

  /**
   * Slots and reservations that could not be returned expire. A settlement is never sent again, because a server that
   * was paused may still execute it: the budgets get its costs from the ledger.
   */
  #fail(error: unknown): undefined {
    this.#failedAt = this.clock();
    this.#options.onError(error);
  }

  #reportLater(settlement: BudgetSettlement): void {
    const now = this.clock();
    while ((this.#unreported[0]?.at ?? now) < now - unreportedMs) this.#unreported.shift();
    this.#unreported.push({ settlement, at: now });
  }

  #newHold(): string {
    return `${this.#options.replica}:${++this.#count}`;
  }

  #pending(): PendingSettlement {
    this.#settlement ??= { rates: [], slots: [], budgets: [] };
    if (!this.#isTimerStarted) {
      this.#isTimerStarted = true;
      this.#options.timers.start(settleMs, () => {
        this.#isTimerStarted = false;
        this.#flush();
      });
    }
    return this.#settlement;
  }

  #takeSettlement(): LimitsSettlement | undefined {
    const settlement = this.#settlement;
    this.#settlement = undefined;
    return settlement;
  }

  #flush(): void {
    const settlement = this.#takeSettlement();
    if (settlement) this.#send(this.#options.limits.settle(settlement));
  }

  #send(call: Promise<void>): void {
    this.#sent = call.catch((error) => this.#fail(error));
  }
}

const sharedRates = (
  scopes: readonly LimitScope[],
): readonly { readonly rate: Rate; readonly shared: SharedRate }[] =>
  scopes.flatMap(({ buckets }) =>
    buckets.flatMap(({ rate, bucket: { shared } }) => (shared ? { rate, shared } : [])),
  );
