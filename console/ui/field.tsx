/** A labeled form control with its hint and its error. The error is announced to screen readers. */
import { type FormEvent, type ReactNode, useEffect, useId, useState } from "react";
import { type MessageKey, useT } from "../i18n/messages.ts";

export interface ControlIds {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean;
}

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  readonly required?: boolean;
  readonly children: (ids: ControlIds) => ReactNode;
}

export function Field({ label, hint, error: givenError, required = false, children }: FieldProps) {
  const t = useT();
  const id = useId();
  const [invalid, setInvalid] = useState<MessageKey>();
  // A corrected field no longer shows the error of its earlier value.
  const [isCorrected, setCorrected] = useState(false);
  // Every error is shown anew.
  useEffect(() => setCorrected(false), [givenError]);
  const error = invalid !== undefined ? t(invalid) : isCorrected ? undefined : givenError;
  const describedBy = error !== undefined || hint !== undefined ? `${id}-text` : undefined;
  return (
    <div
      className="flex flex-col gap-1"
      onInvalid={(event) => {
        event.preventDefault();
        setInvalid(messageOf(event));
      }}
      onChange={() => {
        setInvalid(undefined);
        setCorrected(givenError !== undefined);
      }}
    >
      <label htmlFor={id} className="text-xs font-medium text-muted">
        {label}
        {required && <span aria-hidden="true"> *</span>}
      </label>
      {children({ id, "aria-describedby": describedBy, "aria-invalid": error !== undefined })}
      {error !== undefined ? (
        <p id={describedBy} role="alert" className="text-xs text-bad">
          {error}
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

function messageOf({ target }: FormEvent): MessageKey {
  if (!(target instanceof HTMLInputElement) || target.type !== "date") return "field.noNumber";
  return target.validity.rangeUnderflow ? "field.pastDay" : "field.noDay";
}
