/** The targets of a model: upstream, the model's name there, its weight and its tier. */
import { useQuery } from "@tanstack/react-query";
import { useFieldArray } from "react-hook-form";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { NumberField, SelectField, TextField } from "../../ui/form-fields.tsx";
import { optionsOf } from "../../ui/select.tsx";
import { upstreamsQuery } from "../upstreams/upstreams-query.ts";

export function TargetFields() {
  const t = useT();
  const { data: upstreams } = useQuery(upstreamsQuery);
  const { fields, append, remove } = useFieldArray({ name: "targets" });
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="mb-1 text-xs font-semibold">{t("models.targets")}</legend>
      {fields.map(({ id }, at) => (
        <div key={id} className="grid gap-2 rounded-md border border-line p-2 sm:grid-cols-2">
          <SelectField
            name={`targets.${at}.upstream`}
            label={t("models.form.upstream")}
            required
            options={optionsOf(upstreams?.data.map((upstream) => upstream.id) ?? [])}
          />
          <TextField name={`targets.${at}.model`} label={t("models.form.model")} required />
          <NumberField
            name={`targets.${at}.weight`}
            label={t("models.form.weight")}
            hint={t("models.form.weightHint")}
          />
          <NumberField
            name={`targets.${at}.tier`}
            label={t("models.form.tier")}
            hint={t("models.form.tierHint")}
          />
          {fields.length > 1 && (
            <div>
              <Button size="small" onClick={() => remove(at)}>
                {t("action.remove")}
              </Button>
            </div>
          )}
        </div>
      ))}
      <div>
        <Button size="small" onClick={() => append({})}>
          {t("models.form.addTarget")}
        </Button>
      </div>
    </fieldset>
  );
}
