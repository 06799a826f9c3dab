/** All that have limits, by id. A call takes of all of its own at once, or of none. */
import type { Limits } from "../lib/limits.ts";
import { type Demand, LimitScope, type Rate } from "./limit-scope.ts";

export class Limiter {
  readonly #scopes = new Map<string, LimitScope>();

  get size(): number {
    return this.#scopes.size;
  }

  /** Limits as they are from now on: what stays keeps its counts, what is gone holds nobody back any more. */
  apply(table: ReadonlyMap<string, Limits>, now: number): void {
    for (const [id, scope] of this.#scopes) {
      if (table.has(id)) continue;
      this.#scopes.delete(id);
      scope.apply({}, now);
    }
    for (const [id, limits] of table) {
      const scope = this.#scopes.get(id);
      if (scope) scope.apply(limits, now);
      else this.#scopes.set(id, new LimitScope(id, limits, now));
    }
  }

  /** Those of these ids that have limits. */
  find(...lists: readonly (readonly string[] | undefined)[]): LimitScope[] {
    const found: LimitScope[] = [];
    for (const list of lists) {
      for (const id of list ?? []) {
        const scope = this.#scopes.get(id);
        if (scope) found.push(scope);
      }
    }
    return found;
  }
}

/** Which limit a call would break. */
export interface Shortage {
  readonly scope: LimitScope;
  readonly rate: Rate;
  readonly limit: number;
  readonly used: number;
  readonly requested: number;
  /** Infinity: the call is larger than the limit. */
  readonly waitMs: number;
}

/** The one that has to be waited for longest. Undefined: there is enough of everything. */
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

/** Of all, or, where it is short of one, of none. */
export function take(
  scopes: readonly LimitScope[],
  demand: Demand,
  now: number,
): Shortage | undefined {
  const short = shortage(scopes, demand, now);
  if (short) return short;
  for (const scope of scopes) {
    for (const { rate, bucket } of scope.buckets) bucket.take(demand[rate], now);
  }
  return undefined;
}

export const noDemand: Demand = { requests: 0, tokens: 0, images: 0, pixels: 0 };

/** What was taken was a guess; this is the truth. */
export function settleDemand(
  scopes: readonly LimitScope[],
  taken: Demand,
  actual: Demand,
  now: number,
): void {
  for (const scope of scopes) {
    for (const { rate, bucket } of scope.buckets) {
      const more = actual[rate] - taken[rate];
      if (more > 0) bucket.take(more, now);
      else if (more < 0) bucket.refund(-more, now);
    }
  }
}
