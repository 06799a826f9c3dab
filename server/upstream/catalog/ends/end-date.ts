/** The day from which a kind of upstream no longer serves a model, and the source of that date. */

export interface EndDate {
  /** The first day without the model, in UTC: `2026-12-01`. */
  readonly on: string;
  /** Where the date was read, and when. */
  readonly source: string;
}

export interface EndRow extends EndDate {
  /** The kind of upstream. One vendor may end a model before another does. */
  readonly kind: string;
  /** The models that end, in lower case, by the name a target has. */
  readonly models: readonly string[];
}
