/** Rate limiter: all limit scopes by id. A request takes from all of its buckets at once, or from none. */
import {
  type Limits,
  type Rate,
  rateLimits,
  rateWindowMs,
} from "../../contract/limits-and-budgets.ts";
import type { LimitTable } from "../config/snapshot.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { ConcurrencySlots } from "./concurrency-slots.ts";
import type { Demand, RateLimitCounters } from "./rate-limit-counters.ts";
import type { TokenBucket } from "./token-bucket.ts";

/**
 * One owner of limits (a key, project, end user, tag, model, upstream or target): its rate counters and concurrency
 * slots.
 */
export class LimitScope {
  readonly id: string;
  readonly slots: ConcurrencySlots;
  readonly #counters: RateLimitCounters;
  readonly #buckets = new Map<Rate, TokenBucket>();
  /** The buckets as an array, which is iterated several times per request. */
  buckets: readonly { readonly rate: Rate; readonly bucket: TokenBucket }[] = [];

  constructor(id: string, limits: Limits, counters: RateLimitCounters, now: number) {
    this.id = id;
    this.#counters = counters;
    this.slots = counters.createSlots(id);
    this.apply(limits, now);
  }

  bucket(rate: Rate): TokenBucket | undefined {
    return this.#buckets.get(rate);
  }

  /** Those that were applied last. */
  #limits: Limits | undefined;

  /** When a request last needed it. */
  usedAt = Number.NEGATIVE_INFINITY;

  /** No request uses it and its buckets are full: a new scope would have the same state. */
  isIdle(now: number): boolean {
    const { inFlight, waiting } = this.slots;
    // A request may need it that waits for other replicas, and has taken nothing yet.
    if (inFlight > 0 || waiting > 0 || now - this.usedAt < rateWindowMs) return false;
    return this.buckets.every(({ bucket }) => bucket.msUntilFull(now) <= 0);
  }

  /** Applies new limits. Usage stays counted, except that of a limit that is removed. */
  apply(limits: Limits, now: number): void {
    // A reload leaves most limits the same objects.
    if (limits === this.#limits) return;
    this.#limits = limits;
    this.slots.limit = limits.concurrent ?? Infinity;
    for (const { rate, name, unit } of rateLimits) {
      const setting = limits[`${name}PerMinute`];
      const limit = Math.max(1, Math.round((setting ?? 0) * unit));
      const bucket = this.#buckets.get(rate);
      if (setting === undefined) this.#buckets.delete(rate);
      else if (!bucket)
        this.#buckets.set(rate, this.#counters.createRate(this.id, rate, limit, now));
      else if (bucket.limit !== limit) bucket.resize(limit, now);
    }
    this.buckets = Array.from(this.#buckets, ([rate, bucket]) => ({ rate, bucket }));
  }
}

/** The most scopes of end users and tags in memory. */
export const maxEndUserAndTagScopes = 50_000;
/** How many of them are examined before one is created: a few, or as many as it takes to find an idle one. */
const examined = { always: 2, atMaximum: 64 };
const tooManyRetryMs = 10_000;

/** Whether it is the scope of an end user or a tag: its limits are those of all such scopes of its project. */
const isOfEndUserOrTag = (id: string): boolean => id.includes("\t");
const scopesOf = (id: string): string => id.slice(0, id.lastIndexOf("\t"));

export class Limiter {
  /** The scopes that requests have used. Others are created when they are needed: most of 100,000 keys are idle. */
  readonly #scopes = new Map<string, LimitScope>();
  /** Those of end users and tags. Idle ones are deleted. */
  readonly #endUsersAndTags = new Map<string, LimitScope>();
  readonly #counters: RateLimitCounters;
  #table: LimitTable = new Map();

  constructor(counters: RateLimitCounters) {
    this.#counters = counters;
  }

  get size(): number {
    return this.#scopes.size + this.#endUsersAndTags.size;
  }

  /** Applies new limits. Scopes keep their usage. */
  apply(table: LimitTable, now: number): void {
    this.#table = table;
    for (const scopes of [this.#scopes, this.#endUsersAndTags]) {
      for (const [id, scope] of scopes) {
        const limits = this.#limitsOf(id);
        // Also without limits: requests may wait for its slots.
        scope.apply(limits ?? {}, now);
        if (!limits) scopes.delete(id);
      }
    }
  }

  /** False: the scope of an end user or a tag whose limits are unused. */
  isUsed(id: string): boolean {
    return !isOfEndUserOrTag(id) || this.#endUsersAndTags.has(id);
  }

  /** The scopes of the ids that have limits. Throws GatewayError if too many end users and tags are active. */
  find(now: number, ...lists: readonly (readonly string[] | undefined)[]): LimitScope[] {
    const found: LimitScope[] = [];
    for (const list of lists) {
      for (const id of list ?? []) {
        const scope =
          this.#scopes.get(id) ?? this.#endUsersAndTags.get(id) ?? this.#create(id, now);
        if (!scope) continue;
        scope.usedAt = now;
        found.push(scope);
      }
    }
    return found;
  }

  /** The scope for display. A scope that no request has used is not kept. Undefined if it has no limits. */
  shown(id: string, now: number): LimitScope | undefined {
    const used = this.#scopes.get(id) ?? this.#endUsersAndTags.get(id);
    const limits = this.#limitsOf(id);
    return used ?? (limits && new LimitScope(id, limits, this.#counters, now));
  }

  #limitsOf(id: string): Limits | undefined {
    return this.#table.get(isOfEndUserOrTag(id) ? scopesOf(id) : id);
  }

  #create(id: string, now: number): LimitScope | undefined {
    const limits = this.#limitsOf(id);
    if (!limits) return undefined;
    if (isOfEndUserOrTag(id)) this.#evictEndUsersAndTags(now);
    const scope = new LimitScope(id, limits, this.#counters, now);
    (isOfEndUserOrTag(id) ? this.#endUsersAndTags : this.#scopes).set(id, scope);
    return scope;
  }

  /** Deletes idle scopes. Those in use are examined again after all others. */
  #evictEndUsersAndTags(now: number): void {
    let left =
      this.#endUsersAndTags.size < maxEndUserAndTagScopes ? examined.always : examined.atMaximum;
    for (const [id, scope] of this.#endUsersAndTags) {
      if (left-- === 0) break;
      this.#endUsersAndTags.delete(id);
      if (!scope.isIdle(now)) this.#endUsersAndTags.set(id, scope);
    }
    if (this.#endUsersAndTags.size >= maxEndUserAndTagScopes) throw tooManyEndUsersAndTags();
  }
}

const tooManyEndUsersAndTags = (): GatewayError =>
  new GatewayError(
    "overloaded",
    `Too many end users and tags with limits are active: the gateway counts up to ${maxEndUserAndTagScopes} at the same time. Please try again in ${tooManyRetryMs / 1000}s.`,
    { retryAfterMs: tooManyRetryMs, notSent: true },
  );

/** The limit that a request would exceed. */
export interface Shortage {
  readonly scope: LimitScope;
  readonly rate: Rate;
  readonly limit: number;
  readonly used: number;
  readonly requested: number;
  /** Infinity: the request is larger than the limit. */
  readonly waitMs: number;
}

/**
 * Of the limits that the request would exceed, the one with the longest wait. Undefined if the request exceeds none.
 */
export function shortage(
  scopes: readonly LimitScope[],
  demand: Demand,
  now: number,
): Shortage | undefined {
  let worst: Shortage | undefined;
  for (const scope of scopes) {
    for (const { rate, bucket } of scope.buckets) {
      const requested = demand[rate];
      const waitMs = requested > 0 ? bucket.waitMs(requested, now) : 0;
      if (waitMs <= (worst?.waitMs ?? 0)) continue;
      const { limit } = bucket;
      worst = { scope, rate, limit, used: limit - bucket.remaining(now), requested, waitMs };
    }
  }
  return worst;
}

/** Takes from all buckets or, at a shortage, from none. */
export function take(
  scopes: readonly LimitScope[],
  demand: Demand,
  now: number,
): Shortage | undefined {
  const exceeded = shortage(scopes, demand, now);
  if (exceeded) return exceeded;
  for (const scope of scopes) {
    for (const { rate, bucket } of scope.buckets) bucket.take(demand[rate], now);
  }
  return undefined;
}

export const noDemand: Demand = { requests: 0, tokens: 0, images: 0, pixels: 0 };

/** Corrects the buckets from the estimated demand, which was taken, to the actual demand. */
export function settleDemand(
  scopes: readonly LimitScope[],
  taken: Demand,
  actual: Demand,
  now: number,
): void {
  for (const scope of scopes) {
    for (const { rate, bucket } of scope.buckets) {
      const difference = actual[rate] - taken[rate];
      if (difference > 0) bucket.take(difference, now);
      else if (difference < 0) bucket.refund(-difference, now);
    }
  }
}
