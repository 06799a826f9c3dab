/** Maps Runware's error codes: hundreds of names that follow a few patterns. */
import { codeIn, listOf, memberOf } from "../wire/members.ts";
import type { ErrorMeaning } from "../wire/native-errors.ts";

// Source: github.com/Runware/runware-typescript, src/errors.ts, which sorts them in the same way.

interface ReportedCode {
  readonly code: string;
  /** The rejected field. */
  readonly parameter: unknown;
}

function reportedCodeIn(body: unknown): ReportedCode {
  const first = listOf(memberOf(body, "errors"))[0] ?? memberOf(body, "error");
  return { code: codeIn(first, "code"), parameter: memberOf(first, "parameter") };
}

// `invalidProviderContent` reports the content filter of the model's vendor; undocumented, but in many clients.
const moderated =
  /content(Policy|Moderation)|(sensitive|unsafe|nsfw)Content|^(prompt|image)Blocked|^moderationFailed|^invalidProviderContent/i;

/** Undefined if the status is sufficient. */
export function meaningOf(body: unknown): ErrorMeaning | undefined {
  const { code, parameter } = reportedCodeIn(body);
  if (moderated.test(code)) return "moderated";
  if (/Credits|Quota|Balance|^quotaExceeded|^paymentRequired/.test(code)) return "no credit";
  if (/ApiKey|^auth|^unauthorized|^token|^invalid(Authentication|Credentials)/.test(code)) {
    return "wrong key";
  }
  if (/^(unknown|invalid)Model$|^modelNotFound/.test(code)) return "no such model";
  if (parameter === "model" && /^(invalid|unsupported|unknown)/.test(code)) return "no such model";
  return /^noAvailableServer|^model(Unavailable|NotReady)|Unavailable$/.test(code)
    ? "busy"
    : undefined;
}

/** Errors may come with status 200, next to or instead of images: this is the status that they should have had. */
export function statusOf(body: unknown): number {
  const { code } = reportedCodeIn(body);
  if (/RateLimit/i.test(code)) return 429;
  if (/timeout/i.test(code)) return 504;
  return /^(invalid|missing|conflict|duplicate|unsupported|value|array|max|incompatible)|^unknownParameter|^validation/.test(
    code,
  )
    ? 400
    : 502;
}
