/** One field of the upstream form. Its control depends on the type that the kind gives it. */
import type { FormField } from "../../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { serverText } from "../../i18n/server-text.ts";
import { NumberField, SelectField, TextField } from "../../ui/form-fields.tsx";
import { optionsOf } from "../../ui/select.tsx";
import { fieldLabel } from "./field-label.ts";
import { PairsField } from "./pairs-field.tsx";
import { isSecretValue } from "./upstream-values.ts";

/** `stored`: the value of the upstream that is changed. */
export function KindField({ field, stored }: { field: FormField; stored: unknown }) {
  const t = useT();
  const { name, type, required, description, choices } = field;
  if (type === "pairs") return <PairsField field={field} stored={stored} />;
  const shared = { name, label: fieldLabel(name, t), hint: serverText(description), required };
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
