/** Limits and budgets in words, for lists. */
import type { BudgetValue, LimitsValue } from "../../../contract/admin.ts";
import type { Translate } from "../i18n/messages.ts";
import { count, dollars } from "../lib/format.ts";
import { budgetNames, limitNames } from "./limit-fields.tsx";

interface Limited {
  readonly limits?: LimitsValue | null;
  readonly budget?: BudgetValue | null;
}

export const limitTexts = ({ limits, budget }: Limited, t: Translate): readonly string[] => [
  ...limitNames
    .filter((name) => limits?.[name] !== undefined)
    .map((name) =>
      t("text.pair", { name: t(`limits.${name}`), value: count(limits?.[name] ?? 0) }),
    ),
  ...budgetNames
    .filter((name) => budget?.[name] !== undefined)
    .map((name) =>
      t("text.pair", { name: t(`budget.${name}`), value: dollars(budget?.[name] ?? 0) }),
    ),
];
