/** Limits and budgets of each end user, and of tags by name or pattern. */
import { useFieldArray, useWatch } from "react-hook-form";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { TextField } from "../../ui/form-fields.tsx";
import { BudgetFields, LimitFields } from "../../ui/limit-fields.tsx";

export function EndUserAndTagFields() {
  const t = useT();
  const { fields, append, remove } = useFieldArray({ name: "endUsersAndTags" });
  const endUsersAndTags = (useWatch({ name: "endUsersAndTags" }) ?? []) as readonly {
    readonly scope?: string;
  }[];
  const hasEndUser = endUsersAndTags.some(({ scope }) => scope === "end_user");
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 text-xs font-semibold">{t("endUserAndTagLimits.title")}</legend>
      <p className="text-xs text-muted">{t("endUserAndTagLimits.hint")}</p>
      {fields.map(({ id }, at) => (
        <section
          key={id}
          className="flex flex-col gap-3 rounded-md border border-line p-3"
          aria-label={t(
            endUsersAndTags[at]?.scope === "tag"
              ? "endUserAndTagLimits.tag"
              : "endUserAndTagLimits.endUser",
          )}
        >
          <div className="flex items-start justify-between gap-3">
            {endUsersAndTags[at]?.scope === "tag" ? (
              <div className="grow">
                <TextField
                  name={`endUsersAndTags.${at}.tag`}
                  label={t("endUserAndTagLimits.pattern")}
                  hint={t("endUserAndTagLimits.patternHint")}
                  placeholder={t("endUserAndTagLimits.patternExample")}
                  required
                />
              </div>
            ) : (
              <h3 className="text-sm font-medium">{t("endUserAndTagLimits.endUser")}</h3>
            )}
            <Button size="small" look="quiet" onClick={() => remove(at)}>
              {t("action.remove")}
            </Button>
          </div>
          <LimitFields path={`endUsersAndTags.${at}.limits`} />
          <BudgetFields path={`endUsersAndTags.${at}.budget`} names={["day", "month"]} />
        </section>
      ))}
      <div className="flex flex-wrap gap-2">
        {!hasEndUser && (
          <Button size="small" onClick={() => append({ scope: "end_user" })}>
            {t("endUserAndTagLimits.addEndUser")}
          </Button>
        )}
        <Button size="small" onClick={() => append({ scope: "tag" })}>
          {t("endUserAndTagLimits.addTag")}
        </Button>
      </div>
    </fieldset>
  );
}
