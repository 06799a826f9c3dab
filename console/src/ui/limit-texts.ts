/** Limits and budgets in short, for lists: such as `600 rpm` and `$25/mo`. */
import type { BudgetValue, LimitsValue } from "../../../contract/admin.ts";
import { limitNames } from "../../../contract/limits-and-budgets.ts";
import type { Translate } from "../i18n/messages.ts";
import { count, shortDollars } from "../lib/format.ts";
import { budgetNames } from "./limit-fields.tsx";

interface Limited {
  readonly limits?: LimitsValue | null;
  readonly budget?: BudgetValue | null;
}

export const limitTexts = ({ limits, budget }: Limited, t: Translate): readonly string[] => [
  ...limitNames
    .filter((name) => limits?.[name] !== undefined)
    .map((name) => t(`limits.short.${name}`, { value: count(limits?.[name] ?? 0) })),
  ...budgetNames
    .filter((name) => budget?.[name] !== undefined)
    .map((name) => t(`budget.short.${name}`, { value: shortDollars(budget?.[name] ?? 0) })),
];
