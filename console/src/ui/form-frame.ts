/** What is around a form, a dialog or a page: it asks before changes that are not saved are lost. */
import { createContext, use, useEffect } from "react";

export interface FormFrame {
  readonly report: (hasChanges: boolean) => void;
  /** Closes the dialog, or leaves the page. Undefined if it cannot be closed. */
  readonly cancel: (() => void) | undefined;
}

/** Undefined if the form is a part of a page. */
export const FormFrameContext = createContext<FormFrame | undefined>(undefined);

export function useFormFrame(hasChanges: boolean): FormFrame | undefined {
  const frame = use(FormFrameContext);
  const report = frame?.report;
  useEffect(() => {
    report?.(hasChanges);
    return () => report?.(false);
  }, [report, hasChanges]);
  return frame;
}
