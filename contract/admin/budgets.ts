/** Budgets and limits with their use. */
export interface BudgetStatus {
  readonly object: "budget_status";
  readonly scope: "key" | "project";
  readonly id: string;
  readonly name: string;
  readonly period: "day" | "month" | "total";
  readonly limit: number;
  readonly spent: number;
  readonly reserved: number;
  readonly left: number;
  readonly resets_at: string | null;
}
