/**
 * Target registry: the health of every target, and of every model its candidates, its retry budget and its budget of
 * hedged requests. Health is keyed by name, so that it survives a configuration reload; targets that are no longer
 * configured are evicted.
 */
import type { Model, Snapshot } from "../config/snapshot.ts";
import type { Timers } from "../lib/timers.ts";
import type { PermittedModel } from "../request/caller.ts";
import type { Target } from "../upstream/contract.ts";
import { type TargetChange, TargetHealth } from "./health/target-health.ts";
import { type Candidate, type Policy, policies } from "./policies.ts";
import { HedgeBudget, RetryBudget } from "./retry-budget.ts";
import { hasSelectable, noHealthyTarget, type TargetCapacity } from "./select-target.ts";

interface TargetRegistryOptions {
  readonly snapshot: () => Pick<Snapshot, "models">;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly random: () => number;
  readonly timers: Timers;
  readonly onTargetChange: (change: TargetChange) => void;
}

/** One model's targets, with the policy and the budgets that its requests share. */
export interface ModelTargets {
  /** Sorted by tier, then in configuration order. */
  readonly candidates: readonly Candidate[];
  readonly peers: readonly TargetHealth[];
  readonly policy: Policy;
  readonly budgets: RetryBudgets;
}

export interface ConfiguredTarget {
  readonly health: TargetHealth;
  /** Public model ids. */
  readonly models: readonly string[];
}

interface RetryBudgets {
  readonly retries: RetryBudget;
  readonly hedges: HedgeBudget;
}

export class TargetRegistry {
  readonly clock: () => number;
  readonly random: () => number;
  readonly timers: Timers;
  readonly #options: TargetRegistryOptions;
  #modelTargets = new WeakMap<PermittedModel, ModelTargets>();
  readonly #healths = new Map<string, TargetHealth>();
  readonly #budgets = new Map<string, RetryBudgets>();
  /** The models of the configuration at the last eviction. */
  #sweptModels: Snapshot["models"] | undefined;

  constructor(options: TargetRegistryOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.random = options.random;
    this.timers = options.timers;
  }

  targetsFor(model: PermittedModel): ModelTargets {
    return this.#modelTargets.get(model) ?? this.#build(model);
  }

  /** Throws `no_healthy_target` or `upstream_rate_limit` if no capable target is available now. */
  assertAvailable(
    model: PermittedModel,
    capacity: TargetCapacity,
    isCapable: (target: Target) => boolean,
  ): void {
    const { candidates, policy } = this.targetsFor(model);
    const capable =
      candidates.length === 1 ? candidates : candidates.filter(({ target }) => isCapable(target));
    const now = this.clock();
    if (
      capable.length > 0 &&
      !hasSelectable({ candidates: capable, policy, tried: undefined, capacity }, now)
    ) {
      throw noHealthyTarget(model.id, capable, now);
    }
  }

  /** The target served a request and reported that its quota is used up for `waitMs`. */
  reportExhausted(target: Target, waitMs: number): void {
    const health = this.#healths.get(nameOf(target));
    if (health && isSameUpstream(health.target, target))
      health.recordExhausted(this.clock(), waitMs);
  }

  /** Every configured target, used or not, with the models that it serves. */
  configuredTargets(): readonly ConfiguredTarget[] {
    this.#evictRemoved();
    const found = new Map<TargetHealth, string[]>();
    for (const { id, targets } of this.#options.snapshot().models.values()) {
      for (const target of targets) {
        const health = this.#healthOf(target);
        const models = found.get(health);
        if (!models) found.set(health, [id]);
        else if (models.at(-1) !== id) models.push(id);
      }
    }
    return [...found].map(([health, models]) => ({ health, models }));
  }

  /** Drops all learned state. */
  clear(): void {
    this.#modelTargets = new WeakMap();
    this.#healths.clear();
    this.#budgets.clear();
  }

  #build(model: PermittedModel): ModelTargets {
    // A new model object may come from a new configuration.
    this.#evictRemoved();
    const candidates = model.targets
      .map((target): Candidate => {
        const { tier = 0, weight = 1 } = target;
        const stableHash = Bun.hash.crc32(nameOf(target));
        return { target, health: this.#healthOf(target), tier, weight, stableHash };
      })
      .sort((a, b) => a.tier - b.tier);
    const peers = [...new Set(candidates.map(({ health }) => health))];
    const policy = policies[model.policy ?? "p2c"];
    const modelTargets = { candidates, peers, policy, budgets: this.#budgetsOf(model) };
    this.#modelTargets.set(model, modelTargets);
    return modelTargets;
  }

  #healthOf(target: Target): TargetHealth {
    const name = nameOf(target);
    const existing = this.#healths.get(name);
    // With another address or key, the recorded health does not apply.
    if (existing && isSameUpstream(existing.target, target)) {
      existing.target = target;
      return existing;
    }
    const { random, onTargetChange } = this.#options;
    const fresh = new TargetHealth(target, { random, onChange: onTargetChange });
    this.#healths.set(name, fresh);
    return fresh;
  }

  #budgetsOf({ id }: Model): RetryBudgets {
    const existing = this.#budgets.get(id);
    if (existing) return existing;
    const fresh = { retries: new RetryBudget(), hedges: new HedgeBudget() };
    this.#budgets.set(id, fresh);
    return fresh;
  }

  /** Requests that started earlier may still reference evicted entries; new requests do not find them. */
  #evictRemoved(): void {
    const { models } = this.#options.snapshot();
    if (models === this.#sweptModels) return;
    this.#sweptModels = models;
    const names = new Set([...models.values()].flatMap(({ targets }) => targets.map(nameOf)));
    for (const name of this.#healths.keys()) if (!names.has(name)) this.#healths.delete(name);
    for (const id of this.#budgets.keys()) if (!models.has(id)) this.#budgets.delete(id);
  }
}

/**
 * The key of a target's health, stable across reloads, unlike the objects. The same model has its own health in
 * OpenAI's Responses API (`surface`). Ids contain no spaces.
 */
const nameOf = ({ upstream, model, surface }: Target): string =>
  `${upstream.id} ${model} ${surface ?? ""}`;

/** Ignores limits: they belong to the gateway and say nothing about the target. */
const isSameUpstream = ({ upstream: a }: Target, { upstream: b }: Target): boolean =>
  a === b ||
  (a.kind === b.kind &&
    a.baseUrl === b.baseUrl &&
    a.apiKey === b.apiKey &&
    Bun.deepEquals([a.headers, a.options], [b.headers, b.options]));
