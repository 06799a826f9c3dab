/**
 * Limits and budgets of API keys, projects, models, upstreams and targets. They are in the contract because the storage
 * and the upstreams both use them, and neither imports the other.
 */
import type { Period } from "./budget-periods.ts";

/** Rate limits per minute and concurrency limits: of an API key, a project, a model, an upstream or a target. */
export interface Limits {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly imagesPerMinute?: number;
  /** Millions of pixels. */
  readonly megapixelsPerMinute?: number;
  /** Requests in flight at the same time. */
  readonly concurrent?: number;
}

/**
 * Budgets (spend limits) in US dollars: of an API key, or of a project, which is a group of keys. Daily and monthly
 * budgets reset at midnight UTC.
 */
export interface Budget extends Readonly<Partial<Record<Period, number>>> {
  /** Whether requests of unknown price are allowed or refused. */
  readonly unknownPrice: "allow" | "refuse";
}

/**
 * The first key of a line of rotated keys, such as `key_1f` for `key_1f-2e`: they share one budget and their rate
 * limits. Keys that were not created by a rotation, and keys of the file (`file:NAME`), are their own first key.
 */
export const firstKeyId = (id: string): string => {
  const end = id.startsWith("key_") ? id.indexOf("-") : -1;
  return end === -1 ? id : id.slice(0, end);
};

/** The API key or project that a request is charged to. */
export interface BudgetOwner {
  readonly scope: "key" | "project";
  /** A key's id, a project's name. */
  readonly id: string;
}

/** An API key or project with a budget. */
export interface BudgetedOwner extends BudgetOwner {
  /** Shown in messages. */
  readonly name: string;
  readonly budget: Budget;
}
