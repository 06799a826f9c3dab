/** Budgets and limits that many projects get at once. Those that are absent stay as they are. */
import { z } from "zod";
import type { ProjectValue } from "../../../../contract/admin.ts";
import { budget, limits } from "../../../../contract/schemas/limits.ts";

export const amountsSchema = z.strictObject({
  limits: limits.optional(),
  budget: budget.omit({ unknownPrice: true }).optional(),
});
export type Amounts = z.output<typeof amountsSchema>;

export const hasAmount = ({ limits = {}, budget = {} }: Amounts): boolean =>
  [limits, budget].some((part) => Object.values(part).some((value) => value !== undefined));

/** Undefined if the project has all of these budgets and limits already. */
export function withAmounts(value: ProjectValue, given: Amounts): ProjectValue | undefined {
  const isSame = (["limits", "budget"] as const).every((part) => {
    const own: Readonly<Record<string, unknown>> = value[part] ?? {};
    return Object.entries(given[part] ?? {}).every(([name, amount]) => own[name] === amount);
  });
  if (isSame) return undefined;
  return {
    ...value,
    ...(given.limits && { limits: { ...value.limits, ...given.limits } }),
    ...(given.budget && { budget: { ...value.budget, ...given.budget } }),
  } as ProjectValue;
}
