/** Maps Workers AI errors: a code in a list of errors, and messages that contain the account. */
import { codeIn, listOf, memberOf } from "../wire/members.ts";
import { type ErrorMeaning, nativeErrorReader } from "../wire/native-errors.ts";

/** developers.cloudflare.com/workers-ai/platform/errors, and the codes of the API around it. */
const meanings: ReadonlyMap<string, ErrorMeaning> = new Map(
  Object.entries<ErrorMeaning>({
    3036: "no credit",
    3040: "busy",
    3042: "no such model",
    // The daily free allocation, in public reports of 2026; 3036 in the documentation.
    4006: "no credit",
    5007: "no such model",
    6003: "wrong key",
    7000: "wrong address",
    7003: "wrong address",
    10000: "wrong key",
  }),
);

/**
 * The message of the safety system without the surrounding text, which may name the account. Its code, 3030, has other
 * meanings too. From public reports: "AiError: Input prompt contains NSFW content", "AiError: Your output has been
 * flagged. …".
 */
export function flaggedIn(message: string): string | undefined {
  const [flagMessage] =
    /\b(Input|Output) [\w ]*\bNSFW content\b|\bYour output has been flagged\b/i.exec(message) ?? [];
  return flagMessage === undefined ? undefined : `${flagMessage}.`;
}

export const cloudflareErrorReader = nativeErrorReader({
  classify: ({ message, body }) => {
    if (flaggedIn(message)) return "moderated";
    const [first] = listOf(memberOf(body, "errors"));
    return meanings.get(codeIn(first, "code"));
  },
  redactMessage: (message) => flaggedIn(message) ?? message,
  names: ({ options }) => [options.accountId as string | undefined],
});
