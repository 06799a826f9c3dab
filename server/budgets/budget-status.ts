/** The status of a budget, for the admin API and for errors. */
import type { Period } from "../../contract/budget-periods.ts";

export interface BudgetStatus {
  readonly period: Period;
  readonly limit: number;
  readonly spent: number;
  readonly reserved: number;
  /** Unix milliseconds. Absent for a total budget, which never resets. */
  readonly resetsAt?: number;
}
