/** What is spent, reserved and left of a budget. */
import type { Period } from "../lib/budget.ts";

/** The status of one budget in one period. */
export interface BudgetStatus {
  readonly period: Period;
  readonly limit: number;
  readonly spent: number;
  readonly reserved: number;
  /** Unix milliseconds. Absent for a total budget, which never resets. */
  readonly resetsAt?: number;
}
