/** How Google says no: `{error: {code, message, status, details}}`, on the Gemini API and on Vertex AI. */
import type { GatewayError } from "../../std/gateway-error.ts";
import type { FaultContext, WireReply } from "../adapter.ts";
import { memberOf } from "./native-embeddings.ts";
import { type Rephrased, readRefusal, rephrase, without } from "./rephrase.ts";
import { readFault } from "./upstream-fault.ts";

/** `names` of the operator's own that its words may hold. */
export async function readGoogleFault(
  reply: WireReply,
  context: FaultContext,
  names: readonly (string | undefined)[],
): Promise<GatewayError> {
  const error = memberOf(await readRefusal(reply), "error");
  const message = memberOf(error, "message");
  const words = typeof message === "string" ? without(message, names) : undefined;
  const hidden = words?.replace(/\bprojects\/[\w.:-]+/g, "projects/***");
  return readFault(rephrase(reply, inOpenaiWords(reply.status, error, hidden)), context);
}

function inOpenaiWords(status: number, error: unknown, message: string | undefined): Rephrased {
  const details = memberOf(error, "details");
  const list: readonly unknown[] = Array.isArray(details) ? details : [];
  // A key that is wrong, expired or reported as leaked is refused with 400 or 403, not with 401.
  const aboutKey = list.some((entry) => String(memberOf(entry, "reason")).startsWith("API_KEY_"));
  if (aboutKey || ((status === 400 || status === 403) && /\bAPI key\b/i.test(message ?? ""))) {
    return { status: 401 };
  }
  switch (memberOf(error, "status")) {
    case "NOT_FOUND":
      return { status: 404, code: "model_not_found" };
    // No billing, or a country that is not served.
    case "FAILED_PRECONDITION":
      return { status: 403 };
    case "RESOURCE_EXHAUSTED":
      return { status: 429, retryAfterMs: delayIn(list) };
    default:
      return { status, ...(status === 400 && { message }), retryAfterMs: delayIn(list) };
  }
}

/** google.rpc.RetryInfo: `{"retryDelay": "34.07s"}`. */
function delayIn(details: readonly unknown[]): number | undefined {
  for (const entry of details) {
    const [, seconds] = /^(\d+(?:\.\d+)?)s$/.exec(String(memberOf(entry, "retryDelay"))) ?? [];
    if (seconds !== undefined) return Math.ceil(Number(seconds) * 1000);
  }
  return undefined;
}
