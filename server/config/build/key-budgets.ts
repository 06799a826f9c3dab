/** `budget` in vexel.yaml, and the budgets that the requests of an API key are charged to. */
import type { z } from "zod";
import type { Budget, BudgetedOwner } from "../../../contract/limits-and-budgets.ts";
import type { budget } from "../../../contract/schemas/limits.ts";
import type { Key, Snapshot } from "../snapshot.ts";

type ConfiguredBudget = z.output<typeof budget> | undefined;

/** Leaves out the limits that the file does not set. */
export function budgetOf(given: ConfiguredBudget): { readonly budget?: Budget } {
  if (!given) return {};
  const { unknownPrice, ...limits } = given;
  const entries = Object.entries(limits).filter(([, limit]) => limit !== undefined);
  return { budget: { ...Object.fromEntries(entries), unknownPrice } };
}

/** The budgets of the key and of its project. Absent if there is none, so that most requests skip the check. */
export function keyBudgets(
  { id, name, budget: own, project: projectName }: Key,
  projects: Snapshot["projects"],
): { readonly budgets?: readonly BudgetedOwner[] } {
  const project = projectName === undefined ? undefined : projects?.get(projectName);
  const budgets: readonly BudgetedOwner[] = [
    ...(own ? [{ scope: "key", id, name, budget: own } as const] : []),
    ...(project?.budget
      ? [
          {
            scope: "project",
            id: project.name,
            name: project.name,
            budget: project.budget,
          } as const,
        ]
      : []),
  ];
  return budgets.length === 0 ? {} : { budgets };
}
