/** The problem of a form: an error of the admin API, beside the field that it names. */
import { useState } from "react";
import { ApiError, errorText } from "../api/client.ts";

interface Problem {
  readonly field: string | null;
  readonly message: string;
}

/** `fields`: the fields that show their own problem. */
export function useFormProblem(fields: readonly string[]) {
  const [problem, setProblem] = useState<Problem>();
  const [isSaving, setSaving] = useState(false);
  const isOf = (field: string): boolean =>
    problem?.field === field || (problem?.field?.startsWith(`${field}.`) ?? false);
  const isShownByField = fields.some(isOf);
  return {
    isSaving,
    of: (field: string): string | undefined => (isOf(field) ? problem?.message : undefined),
    /** The problem of no field. */
    other: isShownByField ? undefined : problem?.message,
    /** Runs the change, and shows its error. */
    run: async (change: () => Promise<unknown>): Promise<void> => {
      setSaving(true);
      try {
        setProblem(undefined);
        await change();
      } catch (error) {
        const field = error instanceof ApiError ? error.param : null;
        setProblem({ field, message: errorText(error) });
      } finally {
        setSaving(false);
      }
    },
  };
}

export type FormProblem = ReturnType<typeof useFormProblem>;
