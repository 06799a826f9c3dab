/** One field of the upstream form. Its control depends on the type that the kind gives it. */
import type { FormField } from "../../../contract/admin.ts";
import { useT } from "../../i18n/messages.ts";
import { Field } from "../../ui/field.tsx";
import { Input, NumberInput, Select, TextArea } from "../../ui/input.tsx";
import { PairsField } from "./pairs-field.tsx";
import { type FieldValue, isSecretValue } from "./upstream-values.ts";

interface KindFieldProps {
  readonly field: FormField;
  readonly value: FieldValue | undefined;
  readonly error: string | undefined;
  readonly onChange: (value: FieldValue) => void;
}

export function KindField({ field, value, error, onChange }: KindFieldProps) {
  const t = useT();
  const { name, type, required, description, choices } = field;
  if (type === "pairs") {
    const pairs = Array.isArray(value) ? value : [];
    return <PairsField field={field} pairs={pairs} error={error} onChange={onChange} />;
  }
  const stored = isSecretValue(value) ? value : undefined;
  const text = typeof value === "string" ? value : "";
  const placeholder = stored
    ? t("upstreams.secretSet", { ending: stored.lastFour ?? "" })
    : String(field.default ?? "");
  return (
    <Field label={name} hint={description} required={required} error={error}>
      {(ids) => {
        if (choices || type === "boolean") {
          return (
            <Select {...ids} value={text} onChange={({ target }) => onChange(target.value)}>
              <option value="">{t("upstreams.default")}</option>
              {(choices ?? ["true", "false"]).map((choice) => (
                <option key={choice}>{choice}</option>
              ))}
            </Select>
          );
        }
        const shared = { ...ids, value: text, placeholder, spellCheck: false };
        // A multiline secret is pasted once; the browser has no password field with line breaks.
        if (type === "lines") {
          return (
            <TextArea
              {...shared}
              rows={4}
              autoComplete="off"
              onChange={({ target }) => onChange(target.value)}
            />
          );
        }
        const Control = type === "number" ? NumberInput : Input;
        return (
          <Control
            {...shared}
            type={field.secret ? "password" : "text"}
            autoComplete={field.secret ? "new-password" : "off"}
            onChange={({ target }) => onChange(target.value)}
          />
        );
      }}
    </Field>
  );
}
