/** The fields of limits and budgets, which keys, projects, models and upstreams share. */
import type { BudgetValue } from "../../contract/admin.ts";
import { useT } from "../i18n/messages.ts";
import { NumberField, SelectField } from "./form-fields.tsx";

export const limitNames = [
  "requestsPerMinute",
  "tokensPerMinute",
  "imagesPerMinute",
  "megapixelsPerMinute",
  "concurrent",
] as const;
export const budgetNames = ["day", "month", "total"] as const;

/** The values of BudgetFields. A budget without amounts is none, so the default of `unknownPrice` is absent. */
export const budgetValues = ({ unknownPrice, ...amounts }: BudgetValue = {}): BudgetValue => ({
  ...amounts,
  ...(unknownPrice === "refuse" && { unknownPrice }),
});

export function LimitFields() {
  const t = useT();
  return (
    <fieldset className="grid gap-3 sm:grid-cols-2">
      <legend className="mb-1 text-xs font-semibold">{t("model.limits")}</legend>
      {limitNames.map((name) => (
        <NumberField key={name} name={`limits.${name}`} label={t(`limits.${name}`)} />
      ))}
    </fieldset>
  );
}

export function BudgetFields() {
  const t = useT();
  return (
    <fieldset className="grid gap-3 sm:grid-cols-2">
      <legend className="mb-1 text-xs font-semibold">{t("budget.title")}</legend>
      {budgetNames.map((name) => (
        <NumberField key={name} name={`budget.${name}`} label={t(`budget.${name}`)} />
      ))}
      <SelectField
        name="budget.unknownPrice"
        label={t("budget.unknownPrice")}
        options={[
          { value: "", label: t("budget.unknownPrice.allow") },
          { value: "refuse", label: t("budget.unknownPrice.refuse") },
        ]}
      />
    </fieldset>
  );
}
