/** Tells the dialog around a form that the form has changes that are not saved. */
import { createContext, use, useEffect } from "react";

type Report = (hasChanges: boolean) => void;

/** Undefined if the form is not in a dialog. */
export const UnsavedChangesContext = createContext<Report | undefined>(undefined);

/** Returns whether the form is in a dialog. */
export function useUnsavedChanges(hasChanges: boolean): boolean {
  const report = use(UnsavedChangesContext);
  useEffect(() => {
    report?.(hasChanges);
    return () => report?.(false);
  }, [report, hasChanges]);
  return report !== undefined;
}
