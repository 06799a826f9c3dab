/**
 * What is known of every target, and who sits at the table of every model. It is kept by names, so that a new
 * configuration finds what the old one learned; what is no longer configured is forgotten.
 */
import type { Model, Snapshot } from "../config/snapshot.ts";
import type { Timers } from "../lib/timers.ts";
import type { Route } from "../request/caller.ts";
import type { Target } from "../upstream/contract.ts";
import { TargetHealth, type TargetNews } from "./health/target-health.ts";
import { HedgeBudget } from "./hedge-budget.ts";
import { policies } from "./policies/index.ts";
import type { Candidate, Policy } from "./policies/policy.ts";
import { RetryBudget } from "./retry-budget.ts";
import { hasSelectable, noHealthyTarget, type TargetCapacity } from "./select-target.ts";

export interface TargetRegistryOptions {
  readonly snapshot: () => Pick<Snapshot, "models">;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly random: () => number;
  readonly timers: Timers;
  readonly onTargetChange: (news: TargetNews) => void;
  /** Second questions for each call where the first is slow: 0.05 is one in twenty. */
  readonly hedgeShare?: number;
}

/** One model's targets, and what its calls have in common. */
export interface ModelTargets {
  /** By tier, then as listed. */
  readonly candidates: readonly Candidate[];
  readonly peers: readonly TargetHealth[];
  readonly policy: Policy;
  readonly budgets: RetryBudgets;
}

export interface ConfiguredTarget {
  readonly health: TargetHealth;
  /** Public ids. */
  readonly models: readonly string[];
}

export interface RetryBudgets {
  readonly retries: RetryBudget;
  readonly hedges: HedgeBudget;
}

export class TargetRegistry {
  readonly clock: () => number;
  readonly random: () => number;
  readonly timers: Timers;
  readonly #options: TargetRegistryOptions;
  #modelTargets = new WeakMap<Route, ModelTargets>();
  readonly #healths = new Map<string, TargetHealth>();
  readonly #budgets = new Map<string, RetryBudgets>();
  /** What was swept last. */
  #sweptModels: Snapshot["models"] | undefined;

  constructor(options: TargetRegistryOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.random = options.random;
    this.timers = options.timers;
  }

  targetsFor(route: Route): ModelTargets {
    return this.#modelTargets.get(route) ?? this.#build(route);
  }

  /** Throws what a caller is told where nobody can be asked now, of those that are able to serve. */
  assertAvailable(route: Route, capacity: TargetCapacity, able: (target: Target) => boolean): void {
    const { candidates, policy } = this.targetsFor(route);
    const some =
      candidates.length === 1 ? candidates : candidates.filter(({ target }) => able(target));
    const now = this.clock();
    if (
      some.length > 0 &&
      !hasSelectable({ candidates: some, policy, tried: undefined, capacity }, now)
    ) {
      throw noHealthyTarget(route.id, some, now);
    }
  }

  /** What is known, for those who want to look at it. */
  knownTargets(): readonly TargetHealth[] {
    return [...this.#healths.values()];
  }

  /** It served, and said that it will not for so long. */
  reportExhausted(target: Target, waitMs: number): void {
    const health = this.#healths.get(nameOf(target));
    if (health && isSameUpstream(health.target, target))
      health.coolDown.spent(this.clock(), waitMs);
  }

  /** Every target that is configured, asked or not, with the models that it serves. */
  configuredTargets(): readonly ConfiguredTarget[] {
    this.#evictRemoved();
    const found = new Map<TargetHealth, string[]>();
    for (const { id, targets } of this.#options.snapshot().models.values()) {
      for (const target of targets) {
        const health = this.#healthOf(target);
        found.set(health, [...(found.get(health) ?? []), id]);
      }
    }
    return [...found].map(([health, models]) => ({ health, models: [...new Set(models)] }));
  }

  /** As if nobody had ever been asked. */
  clear(): void {
    this.#modelTargets = new WeakMap();
    this.#healths.clear();
    this.#budgets.clear();
  }

  #build(route: Route): ModelTargets {
    // A route that was never seen may be of a new configuration.
    this.#evictRemoved();
    const candidates = route.targets
      .map((target): Candidate => {
        const { tier = 0, weight = 1 } = target;
        const stableHash = Bun.hash.crc32(nameOf(target));
        return { target, health: this.#healthOf(target), tier, weight, stableHash };
      })
      .sort((a, b) => a.tier - b.tier);
    const peers = [...new Set(candidates.map(({ health }) => health))];
    const policy = policies[route.policy ?? "p2c"];
    const modelTargets = { candidates, peers, policy, budgets: this.#budgetsOf(route) };
    this.#modelTargets.set(route, modelTargets);
    return modelTargets;
  }

  #healthOf(target: Target): TargetHealth {
    const name = nameOf(target);
    const known = this.#healths.get(name);
    // Another address or key: nothing that was found before need be true of it.
    if (known && isSameUpstream(known.target, target)) {
      known.target = target;
      return known;
    }
    const { random, onTargetChange } = this.#options;
    const fresh = new TargetHealth(target, { random, tell: onTargetChange });
    this.#healths.set(name, fresh);
    return fresh;
  }

  #budgetsOf({ id }: Model): RetryBudgets {
    const known = this.#budgets.get(id);
    if (known) return known;
    const { hedgeShare = 0.05 } = this.#options;
    const fresh = { retries: new RetryBudget(), hedges: new HedgeBudget(hedgeShare) };
    this.#budgets.set(id, fresh);
    return fresh;
  }

  /** Calls that began before may still hold on to what goes; nobody finds it any more. */
  #evictRemoved(): void {
    const { models } = this.#options.snapshot();
    if (models === this.#sweptModels) return;
    this.#sweptModels = models;
    const names = new Set([...models.values()].flatMap(({ targets }) => targets.map(nameOf)));
    for (const name of this.#healths.keys()) if (!names.has(name)) this.#healths.delete(name);
    for (const id of this.#budgets.keys()) if (!models.has(id)) this.#budgets.delete(id);
  }
}

/** The same after a reload, when the objects are others. Ids hold no spaces. */
const nameOf = ({ upstream, model, surface }: Target): string =>
  `${upstream.id} ${model} ${surface ?? ""}`;

/** Limits may be others: they are ours, and not the target's. */
const isSameUpstream = ({ upstream: a }: Target, { upstream: b }: Target): boolean =>
  a === b ||
  (a.kind === b.kind &&
    a.baseUrl === b.baseUrl &&
    a.apiKey === b.apiKey &&
    Bun.deepEquals([a.headers, a.options], [b.headers, b.options]));
