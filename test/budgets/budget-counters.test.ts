/** Every implementation of the budget counters obeys their laws. */
import { LocalBudgetCounters } from "../../server/budgets/local-budget-counters.ts";
import { budgetCounterLaws } from "./budget-counters.laws.ts";

budgetCounterLaws(
  "local",
  (spentBefore) => new LocalBudgetCounters({ spentBefore, maxCounters: 8 }),
);
