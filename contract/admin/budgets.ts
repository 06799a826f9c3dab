/** Budgets and limits with their use. */

/** One budget of a key or project in one period. US dollars. */
export interface ShownBudget {
  readonly object: "budget";
  readonly scope: "key" | "project";
  readonly id: string;
  readonly name: string;
  readonly project: string | null;
  readonly period: "day" | "month" | "total";
  readonly limit: number;
  readonly spent: number;
  /** Reserved for requests in flight. */
  readonly reserved: number;
  readonly left: number;
  /** `null`: a total budget, which never resets. */
  readonly resets_at: string | null;
}

/** One limit of a key, project or model. */
export interface ShownLimit {
  readonly object: "limit";
  readonly scope: "key" | "project" | "model";
  readonly id: string;
  readonly name: string;
  readonly project: string | null;
  /** `concurrent`: requests at the same time. The others are per minute. */
  readonly rate: "requests" | "tokens" | "images" | "megapixels" | "concurrent";
  readonly limit: number;
  readonly used: number;
  readonly left: number;
  /** When the whole limit is available again. `null`: now, or when requests end. */
  readonly resets_at: string | null;
  /** Requests that wait for a concurrency slot. */
  readonly queued: number;
}
