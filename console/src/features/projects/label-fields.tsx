/** Limits and budgets of each end user, and of tags by name or pattern. */
import { useFieldArray, useWatch } from "react-hook-form";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { BudgetFields, LimitFields } from "../../ui/limit-fields.tsx";

export function LabelFields() {
  const t = useT();
  const { fields, append, remove } = useFieldArray({ name: "labels" });
  const labels = (useWatch({ name: "labels" }) ?? []) as readonly { readonly scope?: string }[];
  const hasEndUser = labels.some(({ scope }) => scope === "end_user");
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 text-xs font-semibold">{t("labelLimits.title")}</legend>
      <p className="text-xs text-muted">{t("labelLimits.hint")}</p>
      {fields.map(({ id }, at) => (
        <section
          key={id}
          className="flex flex-col gap-3 rounded-md border border-line p-3"
          aria-label={t(labels[at]?.scope === "tag" ? "labelLimits.tag" : "labelLimits.endUser")}
        >
          <div className="flex items-start justify-between gap-3">
            {labels[at]?.scope === "tag" ? (
              <div className="grow">
                <TextField
                  name={`labels.${at}.tag`}
                  label={t("labelLimits.pattern")}
                  hint={t("labelLimits.patternHint")}
                  placeholder={t("labelLimits.patternExample")}
                  required
                />
              </div>
            ) : (
              <h3 className="text-sm font-medium">{t("labelLimits.endUser")}</h3>
            )}
            <Button size="small" look="quiet" onClick={() => remove(at)}>
              {t("action.remove")}
            </Button>
          </div>
          <LimitFields path={`labels.${at}.limits`} />
          <BudgetFields path={`labels.${at}.budget`} names={["day", "month"]} />
        </section>
      ))}
      <div className="flex flex-wrap gap-2">
        {!hasEndUser && (
          <Button size="small" onClick={() => append({ scope: "end_user" })}>
            {t("labelLimits.addEndUser")}
          </Button>
        )}
        <Button size="small" onClick={() => append({ scope: "tag" })}>
          {t("labelLimits.addTag")}
        </Button>
      </div>
    </fieldset>
  );
}
