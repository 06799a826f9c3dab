/**
 * The fields of a form. `name` is the path of the member in the body, and of the errors of the server. An empty input
 * is an absent member.
 */
import type { ComponentProps, ReactNode } from "react";
import { type FieldError, get, useFormContext } from "react-hook-form";
import { Field } from "./field.tsx";
import { Input, TextArea } from "./input.tsx";

export interface FieldProps {
  readonly name: string;
  readonly label: string;
  readonly hint?: ReactNode;
  readonly required?: boolean;
}

type TextFieldProps = FieldProps &
  Pick<
    ComponentProps<"input">,
    "type" | "inputMode" | "autoComplete" | "placeholder" | "disabled" | "min" | "spellCheck"
  > & {
    /** Converts a text that is not empty to the value. If absent, the value is the trimmed text. */
    readonly read?: (text: string) => unknown;
    /** The number of lines of a multiline input. */
    readonly rows?: number;
    /** Beside the input. */
    readonly children?: ReactNode;
  };

export function TextField(props: TextFieldProps) {
  const { name, label, hint, required, read = trimmed, rows, children, ...input } = props;
  const { register, formState } = useFormContext();
  const registered = register(name, {
    setValueAs: (value: unknown) => {
      if (typeof value !== "string") return value;
      return value.trim() === "" ? undefined : read(value);
    },
  });
  return (
    <Field
      label={label}
      hint={hint}
      required={required ?? false}
      error={(get(formState.errors, name) as FieldError | undefined)?.message}
    >
      {(ids) =>
        rows === undefined ? (
          <div className="flex gap-2">
            <Input {...input} {...ids} {...registered} />
            {children}
          </div>
        ) : (
          <TextArea
            {...ids}
            {...registered}
            rows={rows}
            autoComplete="off"
            spellCheck={false}
            placeholder={input.placeholder}
          />
        )
      }
    </Field>
  );
}

const trimmed = (text: string): string => text.trim();

/** A number as text: an input of the type `number` gives an empty value for text that is no number. */
export const NumberField = (props: FieldProps & { placeholder?: string }) => (
  <TextField {...props} inputMode="decimal" read={Number} />
);

/** Values with commas between them. */
export const listIn = (text: string): readonly string[] =>
  text
    .split(",")
    .map(trimmed)
    .filter((each) => each !== "");
