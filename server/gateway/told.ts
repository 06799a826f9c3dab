/** What was not done as the caller said it, in headers: nothing is changed or left out in silence. */
import type { Trip } from "./trip.ts";

/** Adds to `headers`, and returns them. */
export function told(
  { adapted, dropped, missing }: Trip,
  headers: Record<string, string>,
): Record<string, string> {
  if (adapted?.length) headers["vexel-adapted"] = adapted.join(", ");
  if (dropped?.length) headers["vexel-dropped"] = dropped.join(", ");
  if (missing) headers["vexel-missing"] = `${missing.count}; fault=${missing.fault}`;
  return headers;
}
