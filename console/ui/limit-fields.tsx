/** The fields of limits and budgets, which keys, projects, models and upstreams share. */
import type { BudgetValue, LimitsValue } from "../../contract/admin.ts";
import { useT } from "../i18n/messages.ts";
import { numbersOf, type Texts } from "../lib/text-values.ts";
import { Field } from "./field.tsx";
import { NumberInput, Select } from "./input.tsx";
import type { FormProblem } from "./use-form-problem.ts";

export const limitNames = [
  "requestsPerMinute",
  "tokensPerMinute",
  "imagesPerMinute",
  "megapixelsPerMinute",
  "concurrent",
] as const;
export const budgetNames = ["day", "month", "total"] as const;

/** Undefined: no limit is set. */
export const limitsIn = (texts: Texts): LimitsValue | undefined => numbersOf(texts, limitNames);

/** Undefined: no budget is set. */
export function budgetIn(texts: Texts): BudgetValue | undefined {
  const amounts = numbersOf(texts, budgetNames);
  if (!amounts) return undefined;
  return { ...amounts, ...(texts.unknownPrice === "refuse" && { unknownPrice: "refuse" }) };
}

interface FieldsProps {
  readonly texts: Texts;
  readonly onChange: (texts: Texts) => void;
  readonly problem: FormProblem;
}

export function LimitFields(props: FieldsProps) {
  const t = useT();
  return (
    <fieldset className="grid gap-3 sm:grid-cols-2">
      <legend className="mb-1 text-xs font-semibold">{t("model.limits")}</legend>
      {limitNames.map((name) => (
        <NumberField key={name} {...props} name={name} path={`limits.${name}`} />
      ))}
    </fieldset>
  );
}

export function BudgetFields(props: FieldsProps) {
  const t = useT();
  const { texts, onChange } = props;
  return (
    <fieldset className="grid gap-3 sm:grid-cols-2">
      <legend className="mb-1 text-xs font-semibold">{t("budget.title")}</legend>
      {budgetNames.map((name) => (
        <NumberField key={name} {...props} name={name} path={`budget.${name}`} />
      ))}
      <Field label={t("budget.unknownPrice")}>
        {(ids) => (
          <Select
            {...ids}
            value={texts.unknownPrice ?? "allow"}
            onChange={({ target }) => onChange({ ...texts, unknownPrice: target.value })}
          >
            <option value="allow">{t("budget.unknownPrice.allow")}</option>
            <option value="refuse">{t("budget.unknownPrice.refuse")}</option>
          </Select>
        )}
      </Field>
    </fieldset>
  );
}

/** `path`: the field in errors of the admin API, and the key of its label. */
function NumberField({
  texts,
  onChange,
  problem,
  name,
  path,
}: FieldsProps & {
  readonly name: string;
  readonly path: `limits.${(typeof limitNames)[number]}` | `budget.${(typeof budgetNames)[number]}`;
}) {
  const t = useT();
  return (
    <Field label={t(path)} error={problem.of(path)}>
      {(ids) => (
        <NumberInput
          {...ids}
          value={texts[name] ?? ""}
          onChange={({ target }) => onChange({ ...texts, [name]: target.value })}
        />
      )}
    </Field>
  );
}
