/** Budgets and limits that many projects get at once. Those that are absent stay as they are. */
import { z } from "zod";
import type { ProjectValue } from "../../../../contract/admin.ts";
import { budget, limits } from "../../../../contract/schemas/limits.ts";

export const amountsSchema = z.strictObject({
  limits: limits.optional(),
  budget: budget.omit({ unknownPrice: true }).optional(),
});
export type Amounts = z.output<typeof amountsSchema>;

export const hasAmount = (amounts: Amounts): boolean =>
  Object.values(filledIn(amounts)).some((part) => Object.keys(part).length > 0);

/** The fields of a form that stay empty are undefined. */
const filledIn = ({ limits = {}, budget = {} }: Amounts) => ({
  limits: withoutUndefined(limits),
  budget: withoutUndefined(budget),
});

const withoutUndefined = <Part extends object>(part: Part): Part =>
  Object.fromEntries(Object.entries(part).filter(([, value]) => value !== undefined)) as Part;

/** Undefined if the project has all of these budgets and limits already. */
export function withAmounts(value: ProjectValue, amounts: Amounts): ProjectValue | undefined {
  const given = filledIn(amounts);
  const isSame = (["limits", "budget"] as const).every((part) => {
    const own: Readonly<Record<string, unknown>> = value[part] ?? {};
    return Object.entries(given[part]).every(([name, amount]) => own[name] === amount);
  });
  if (isSame) return undefined;
  return {
    ...value,
    ...(hasAmount({ limits: given.limits }) && { limits: { ...value.limits, ...given.limits } }),
    ...(hasAmount({ budget: given.budget }) && { budget: { ...value.budget, ...given.budget } }),
  } as ProjectValue;
}
