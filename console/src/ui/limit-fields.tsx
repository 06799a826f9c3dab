/** The fields of limits and budgets, which keys, projects, models and upstreams share. */
import type { ApiKey, BudgetValue } from "../../../contract/admin.ts";
import { limitNames } from "../../../contract/limits-and-budgets.ts";
import { useT } from "../i18n/messages.ts";
import { NumberField } from "./form-fields.tsx";
import { SelectField } from "./select-field.tsx";

export const budgetNames = ["day", "month", "total"] as const;

/** The values of BudgetFields. A budget without amounts is none, so the default of `unknownPrice` is absent. */
export const budgetValues = ({ unknownPrice, ...amounts }: BudgetValue = {}): BudgetValue => ({
  ...amounts,
  ...(unknownPrice === "refuse" && { unknownPrice }),
});

/** `locked`: what an administrator set, for a user who may only lower it. */
interface LockProps {
  readonly locked?: ApiKey["locked"];
}

function useLockHint(locked: ApiKey["locked"] = {}) {
  const t = useT();
  return (name: string) => {
    const value = locked[name];
    if (value === undefined) return undefined;
    return value === "refuse" ? t("limits.locked") : t("limits.lockedAt", { value });
  };
}

/** `path`: the member with the limits. */
export function LimitFields({ locked, path = "limits" }: LockProps & { readonly path?: string }) {
  const t = useT();
  const hintOf = useLockHint(locked);
  return (
    <fieldset className="grid gap-3 sm:grid-cols-2">
      <legend className="mb-1 text-xs font-semibold">{t("model.limits")}</legend>
      {limitNames.map((name) => (
        <NumberField
          key={name}
          name={`${path}.${name}`}
          label={t(`limits.${name}`)}
          hint={hintOf(`limits.${name}`)}
        />
      ))}
    </fieldset>
  );
}

interface BudgetFieldsProps extends LockProps {
  /** The member with the budget. */
  readonly path?: string;
  readonly names?: readonly (typeof budgetNames)[number][];
  /** False: amounts only. */
  readonly hasUnknownPrice?: boolean;
}

export function BudgetFields(props: BudgetFieldsProps) {
  const { locked, path = "budget", names = budgetNames, hasUnknownPrice = true } = props;
  const t = useT();
  const hintOf = useLockHint(locked);
  return (
    <fieldset className="grid gap-3 sm:grid-cols-2">
      <legend className="mb-1 text-xs font-semibold">{t("budget.title")}</legend>
      {names.map((name) => (
        <NumberField
          key={name}
          name={`${path}.${name}`}
          label={t(`budget.${name}`)}
          hint={hintOf(`budget.${name}`)}
        />
      ))}
      {hasUnknownPrice && (
        <SelectField
          name={`${path}.unknownPrice`}
          label={t("budget.unknownPrice")}
          hint={hintOf("budget.unknownPrice")}
          disabled={locked?.["budget.unknownPrice"] !== undefined}
          options={[
            { value: "", label: t("budget.unknownPrice.allow") },
            { value: "refuse", label: t("budget.unknownPrice.refuse") },
          ]}
        />
      )}
    </fieldset>
  );
}
