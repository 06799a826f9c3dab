/** Puts an error of the admin API beside the field that it names, or at the end of the form. */
import type { FieldValues, Path, UseFormSetError } from "react-hook-form";
import { ApiError, errorText } from "../api/client.ts";

export function showFormError<Values extends FieldValues>(
  error: unknown,
  fields: readonly Path<Values>[],
  setError: UseFormSetError<Values>,
): void {
  const param = error instanceof ApiError ? error.param : null;
  const field = fields.find((name) => name === param);
  setError(field ?? "root", { message: errorText(error) });
}

export const FormError = ({ message }: { message: string | undefined }) =>
  message === undefined ? null : (
    <p role="alert" className="text-bad">
      {message}
    </p>
  );
