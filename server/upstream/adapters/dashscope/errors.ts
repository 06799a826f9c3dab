/** Maps Alibaba Model Studio errors: a code and a message, with a status or inside a failed operation. */
import { codeIn } from "../wire/members.ts";
import { type ErrorMeaning, nativeErrorReader } from "../wire/native-errors.ts";

/** From the image models' pages on content moderation. */
const moderation = /^(DataInspectionFailed|IPInfringementSuspect|data_inspection_failed)$/;

// alibabacloud.com/help/en/model-studio/error-code.
function meaningOf(code: string): ErrorMeaning | undefined {
  if (moderation.test(code)) return "moderated";
  if (/^Model\.?NotFound$/i.test(code)) return "no such model";
  return code === "Arrearage" || code.startsWith("AllocationQuota.") ? "no credit" : undefined;
}

export const dashscopeErrorReader = nativeErrorReader({
  classify: ({ status, message, body }) => {
    const code = codeIn(body, "code");
    if (/^Model not exist\b/i.test(message)) return "no such model";
    if (code === "Throttling.AllocationQuota" && /\bfree\b/i.test(message)) return "no credit";
    if (status === 400 && /\bbatch size is invalid\b/.test(message)) return "too many inputs";
    return meaningOf(code);
  },
});

/** A failed operation has no HTTP status. Undefined if the failure is an error of the upstream itself. */
export function meaningOfOperation(code: string): ErrorMeaning | undefined {
  if (/^Model\.?NotExist$/i.test(code)) return "no such model";
  if (code === "InvalidApiKey") return "wrong key";
  if (code.startsWith("Throttling")) return "too fast";
  if (code.startsWith("AccessDenied")) return "forbidden";
  return meaningOf(code) ?? (/^(Invalid|BadRequest)/.test(code) ? "rejected" : undefined);
}
