/** JSON responses and path segments, for handlers of routes. */
import type { OutgoingResponse } from "../request/http-types.ts";

/** A segment that is not well encoded stays as it is: no id has such a name. */
export function decodePathSegment(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const json = (value: unknown, status = 200): OutgoingResponse => ({
  status,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(value),
});
