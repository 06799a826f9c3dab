/** The place of the toasts in every page. */
import { Suspense } from "react";
import { lazyComponent } from "../api/chunks.ts";
import { useToasts } from "./toast.ts";

/** Loaded with the first toast. */
const Toasts = lazyComponent(async () => (await import("./toasts.tsx")).Toasts);

/** Once, beside the pages. */
export function ToastRegion() {
  const isNeeded = useToasts().length > 0;
  return <Suspense>{isNeeded && <Toasts />}</Suspense>;
}
