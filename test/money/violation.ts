/** What breaks the law. */
import type { Nano } from "./program.ts";

export interface Violation {
  /** The same for all violations of one kind. */
  readonly law: string;
  readonly text: string;
}

export const dollars = (nano: Nano | null): string =>
  nano === null ? "null" : `$${(nano / 1e9).toFixed(9)}`;

export const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);
