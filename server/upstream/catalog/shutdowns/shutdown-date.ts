/** Shutdown date: the day from which a kind of upstream no longer serves a model, and its source. */

export interface ShutdownDate {
  /** The first day without the model, in UTC: `2026-12-01`. */
  readonly on: string;
  /** Where the date was read, and when. */
  readonly source: string;
}

export interface ShutdownRow extends ShutdownDate {
  /** The kind of upstream. One vendor may shut a model down before another does. */
  readonly kind: string;
  /** The models that are shut down, in lower case, by the name a target has. */
  readonly models: readonly string[];
}

export const shutdownRow = (
  kind: string,
  on: string,
  source: string,
  models: readonly string[],
): ShutdownRow => ({ kind, on, source, models });
