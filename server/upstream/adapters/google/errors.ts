/** Maps Google errors: `{error: {code, message, status, details}}`, on the Gemini API and on Vertex AI. */
import type { Adapter } from "../../adapter.ts";
import { codeIn, listOf, memberOf } from "../wire/members.ts";
import {
  type ErrorMeaning,
  nativeErrorReader,
  type OwnNames,
  type VendorError,
} from "../wire/native-errors.ts";

export const googleErrorReader = (names: OwnNames): Adapter["readError"] =>
  nativeErrorReader({
    classify,
    names,
    redactMessage: (message) => message.replace(/\bprojects\/[\w.:-]+/g, "projects/***"),
    retryAfterMs: ({ body }) => delayIn(detailsIn(body)),
  });

const errorIn = (body: unknown): unknown => memberOf(body, "error");

const detailsIn = (body: unknown): readonly unknown[] => listOf(memberOf(errorIn(body), "details"));

function classify({ status, message, body }: VendorError): ErrorMeaning | undefined {
  // A key that is wrong, expired or reported as leaked is refused with 400 or 403, not with 401.
  const aboutKey = detailsIn(body).some((entry) => codeIn(entry, "reason").startsWith("API_KEY_"));
  if (aboutKey || ((status === 400 || status === 403) && /\bAPI key\b/i.test(message))) {
    return "wrong key";
  }
  // Imagen's error for a moderated prompt; the Gemini models report it within a response.
  if (status === 400 && /\bResponsible AI practices\b/.test(message)) return "moderated";
  switch (memberOf(errorIn(body), "status")) {
    case "NOT_FOUND":
      return "no such model";
    // No billing, or a country that is not served.
    case "FAILED_PRECONDITION":
      return "forbidden";
    case "RESOURCE_EXHAUSTED":
      return /\bcredits are depleted\b/.test(message) ? "no credit" : "too fast";
    default:
      return undefined;
  }
}

/** google.rpc.RetryInfo: `{"retryDelay": "34.07s"}`. */
function delayIn(details: readonly unknown[]): number | undefined {
  for (const entry of details) {
    const [, seconds] = /^(\d+(?:\.\d+)?)s$/.exec(codeIn(entry, "retryDelay")) ?? [];
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1000);
  }
  return undefined;
}
