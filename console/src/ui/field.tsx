/** A labeled form control with its hint and its error. The error is announced to screen readers. */
import { type ReactNode, useId } from "react";
import { fieldErrorText } from "../i18n/field-error-text.ts";

interface ControlIds {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean;
}

interface FieldProps {
  readonly label: string;
  /** The name of the parameter in the API, shown as a tooltip. */
  readonly apiName?: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  readonly required?: boolean;
  readonly children: (ids: ControlIds) => ReactNode;
}

export function Field({ label, apiName, hint, error, required = false, children }: FieldProps) {
  const id = useId();
  const describedBy = error !== undefined || hint !== undefined ? `${id}-text` : undefined;
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} title={apiName} className="text-xs font-medium text-muted">
        {label}
        {required && <span aria-hidden="true"> *</span>}
      </label>
      {children({ id, "aria-describedby": describedBy, "aria-invalid": error !== undefined })}
      {error !== undefined ? (
        <p id={describedBy} role="alert" className="text-xs text-bad first-letter:uppercase">
          {fieldErrorText(error)}
        </p>
      ) : (
        hint !== undefined && (
          <p id={describedBy} className="text-xs text-muted">
            {hint}
          </p>
        )
      )}
    </div>
  );
}
