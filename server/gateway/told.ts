/** What was not done as the caller said it, in headers: nothing is changed or left out in silence. */
import type { Trip } from "./trip.ts";

const nothing: Readonly<Record<string, string>> = {};

export function told({ adapted, dropped, missing }: Trip): Readonly<Record<string, string>> {
  if (!adapted?.length && !dropped?.length && !missing) return nothing;
  return {
    ...(adapted?.length && { "vexel-adapted": adapted.join(", ") }),
    ...(dropped?.length && { "vexel-dropped": dropped.join(", ") }),
    ...(missing && { "vexel-missing": `${missing.count}; fault=${missing.fault}` }),
  };
}
