/** Comboboxes as fields of a form. */
import { Controller } from "react-hook-form";
import { Combobox, type ComboboxOption, MultiCombobox } from "./combobox.tsx";
import { Field } from "./field.tsx";
import type { FieldProps } from "./form-fields.tsx";

interface ComboboxFieldProps extends FieldProps {
  readonly options: readonly ComboboxOption[];
  readonly placeholder?: string;
  readonly disabled?: boolean;
  readonly allowsOther?: boolean;
  readonly onChange?: (value: string) => void;
}

/** The empty value is an absent member. */
export function ComboboxField(props: ComboboxFieldProps) {
  const { name, label, hint, required = false, onChange, ...combobox } = props;
  return (
    <Controller
      name={name}
      render={({ field, fieldState }) => (
        <Field label={label} hint={hint} required={required} error={fieldState.error?.message}>
          {(ids) => (
            <Combobox
              {...combobox}
              {...ids}
              name={name}
              value={String(field.value ?? "")}
              onChange={(value) => {
                field.onChange(value === "" ? undefined : value);
                onChange?.(value);
              }}
            />
          )}
        </Field>
      )}
    />
  );
}

/** The value is a list. An empty list is an absent member. */
export function MultiComboboxField(props: Omit<ComboboxFieldProps, "onChange">) {
  const { name, label, hint, required = false, ...combobox } = props;
  return (
    <Controller
      name={name}
      render={({ field, fieldState }) => (
        <Field label={label} hint={hint} required={required} error={fieldState.error?.message}>
          {(ids) => (
            <MultiCombobox
              {...combobox}
              {...ids}
              name={name}
              values={(field.value as readonly string[] | undefined) ?? []}
              onChange={(values) => field.onChange(values.length === 0 ? undefined : values)}
            />
          )}
        </Field>
      )}
    />
  );
}
