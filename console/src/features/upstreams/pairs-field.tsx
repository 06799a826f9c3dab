/** Names and values, such as extra headers. Stored secret values are kept until they are replaced. */
import { useFieldArray, useFormContext } from "react-hook-form";
import type { FormField } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Button } from "../../ui/button.tsx";
import { Input } from "../../ui/input.tsx";
import { fieldLabel } from "./field-label.ts";
import { isSecretValue } from "./upstream-values.ts";

interface PairsFieldProps {
  readonly field: FormField;
  readonly hint: string;
  readonly stored: unknown;
}

export function PairsField({ field, hint, stored }: PairsFieldProps) {
  const t = useT();
  const { register, getValues } = useFormContext();
  const { fields, append, remove } = useFieldArray({ name: field.name });
  const placeholderOf = (at: number): string => {
    const value = (stored as Record<string, unknown> | undefined)?.[
      getValues(`${field.name}.${at}.name`)
    ];
    return isSecretValue(value) ? t("upstreams.secretSet", { ending: value.lastFour ?? "" }) : "";
  };
  return (
    <fieldset className="flex flex-col gap-2">
      <legend className="text-xs font-medium text-muted">{fieldLabel(field.name, t)}</legend>
      <p className="text-xs text-muted">{hint}</p>
      {fields.map(({ id }, at) => (
        <div key={id} className="flex gap-2">
          <Input
            aria-label={t("upstreams.pairName", { field: field.name, number: at + 1 })}
            {...register(`${field.name}.${at}.name`)}
          />
          <Input
            aria-label={t("upstreams.pairValue", { field: field.name, number: at + 1 })}
            type={field.secret ? "password" : "text"}
            autoComplete="new-password"
            placeholder={placeholderOf(at)}
            {...register(`${field.name}.${at}.value`)}
          />
          <Button onClick={() => remove(at)}>{t("action.remove")}</Button>
        </div>
      ))}
      <div>
        <Button size="small" onClick={() => append({ name: "", value: "" })}>
          {t("upstreams.addPair")}
        </Button>
      </div>
    </fieldset>
  );
}
