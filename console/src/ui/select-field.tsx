/** A field of a form with a list of options. It is apart from the other fields: the sign-in page loads without it. */
import { Controller } from "react-hook-form";
import { Field } from "./field.tsx";
import type { FieldProps } from "./form-fields.tsx";
import { type Option, Select } from "./select.tsx";

interface SelectFieldProps extends FieldProps {
  readonly options: readonly Option[];
  readonly disabled?: boolean;
  /** Converts the chosen option to the value. If absent, the value is the text of the option. */
  readonly read?: (value: string) => unknown;
  readonly onChange?: (value: string) => void;
}

export function SelectField(props: SelectFieldProps) {
  const { name, label, hint, required, options, disabled, read = String, onChange } = props;
  return (
    <Controller
      name={name}
      render={({ field, fieldState }) => (
        <Field
          label={label}
          hint={hint}
          required={required ?? false}
          error={fieldState.error?.message}
        >
          {(ids) => (
            <Select
              {...ids}
              name={name}
              value={String(field.value ?? "")}
              options={options}
              {...(disabled && { disabled })}
              onChange={(value) => {
                field.onChange(value === "" ? undefined : read(value));
                onChange?.(value);
              }}
            />
          )}
        </Field>
      )}
    />
  );
}
