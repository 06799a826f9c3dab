/** One field of the upstream form. Its control depends on the type that the kind gives it. */
import type { FormField } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { fieldHelp } from "../../i18n/server-text.ts";
import { NumberField, TextField } from "../../ui/form-fields.tsx";
import { optionsOf } from "../../ui/select.tsx";
import { SelectField } from "../../ui/select-field.tsx";
import { fieldLabel } from "./field-label.ts";
import { PairsField } from "./pairs-field.tsx";
import { isSecretValue } from "./upstream-values.ts";

interface KindFieldProps {
  readonly kind: string;
  readonly field: FormField;
  /** The value of the upstream that is changed. */
  readonly stored: unknown;
}

export function KindField({ kind, field, stored }: KindFieldProps) {
  const t = useT();
  const { name, type, required, description, choices } = field;
  const hint = fieldHelp(kind, name, description);
  if (type === "pairs") return <PairsField field={field} hint={hint} stored={stored} />;
  const shared = { name, label: fieldLabel(name, t), hint, required };
  if (choices || type === "boolean") {
    return (
      <SelectField
        {...shared}
        options={[
          { value: "", label: t("upstreams.default") },
          ...optionsOf(choices ?? ["true", "false"]),
        ]}
        {...(type === "boolean" && { read: (text: string) => text === "true" })}
      />
    );
  }
  const placeholder = isSecretValue(stored)
    ? t("upstreams.secretSet", { ending: stored.lastFour ?? "" })
    : String(field.default ?? "");
  if (type === "number") return <NumberField {...shared} placeholder={placeholder} />;
  // A multiline secret is pasted once; the browser has no password field with line breaks.
  if (type === "lines") {
    return <TextField {...shared} placeholder={placeholder} rows={4} read={String} />;
  }
  return (
    <TextField
      {...shared}
      placeholder={placeholder}
      spellCheck={false}
      type={field.secret ? "password" : "text"}
      autoComplete={field.secret ? "new-password" : "off"}
    />
  );
}
