/** Every implementation of the budget counters obeys their laws. */
import { BudgetCounters } from "../../server/budgets/budget-counters.ts";
import { budgetCounterLaws } from "./budget-counters.laws.ts";

budgetCounterLaws("local", (spentBefore) => ({
  counters: new BudgetCounters({ spentBefore, maxCounters: 8 }),
}));
