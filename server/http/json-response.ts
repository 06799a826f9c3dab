/** JSON responses and path segments, for route handlers. */
import type { OutgoingResponse } from "../request/http-types.ts";

/** A segment with invalid percent-encoding is returned unchanged: it matches no id. */
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
