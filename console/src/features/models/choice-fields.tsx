/** Choices of the form of a model: yes or no, or one of the values of a member. */
import { useT } from "../../i18n/messages.ts";
import { SelectField } from "../../ui/select-field.tsx";

type YesNoMember = "cache" | "batch" | "sameSpace" | "contextual" | "showCost" | "retryPaid";

/** Absent, yes or no. */
export function YesNoField({ name }: { readonly name: YesNoMember }) {
  const t = useT();
  return (
    <SelectField
      name={name}
      label={t(`models.form.${name}`)}
      hint={t(`models.form.${name}Hint`)}
      read={(value) => value === "true"}
      options={[
        { value: "", label: t("models.form.default") },
        { value: "true", label: t("models.form.yes") },
        { value: "false", label: t("models.form.no") },
      ]}
    />
  );
}

interface ValueFieldProps<Value extends string> {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly values: readonly Value[];
  readonly textOf: (value: Value) => string;
  /** The value of an absent member. The default is a setting of the gateway. */
  readonly absent?: Value;
}

/** One of the values of a member. */
export function ValueField<Value extends string>(props: ValueFieldProps<Value>) {
  const { name, label, hint, values, textOf, absent } = props;
  const t = useT();
  return (
    <SelectField
      name={name}
      label={label}
      hint={hint}
      options={[
        ...(absent === undefined ? [{ value: "", label: t("models.form.default") }] : []),
        ...values.map((value) => ({
          value: value === absent ? "" : value,
          label: textOf(value),
        })),
      ]}
    />
  );
}
