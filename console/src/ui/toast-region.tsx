/** The place of the toasts in every page. */
import { lazy, type ReactNode, Suspense } from "react";
import { useToasts } from "./toast.ts";

/** Loaded with the first toast. After an update of the gateway the file may be gone: then there are no toasts. */
const Toasts = lazy<() => ReactNode>(async () => {
  try {
    return { default: (await import("./toasts.tsx")).Toasts };
  } catch {
    return { default: () => null };
  }
});

/** Once, beside the pages. */
export function ToastRegion() {
  const isNeeded = useToasts().length > 0;
  return <Suspense>{isNeeded && <Toasts />}</Suspense>;
}
