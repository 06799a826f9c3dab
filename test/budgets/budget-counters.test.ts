/** The laws of budget counters, for those of one process. */
import { budgetCounterLaws } from "./budget-counters.laws.ts";

budgetCounterLaws("local", () => undefined);
