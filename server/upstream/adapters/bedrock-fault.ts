/** How Amazon Bedrock says no: a name in a header, `{message}` in the body, and statuses that do not always fit. */
import type { GatewayError } from "../../std/gateway-error.ts";
import type { FaultContext, WireReply } from "../adapter.ts";
import { memberOf } from "./native-embeddings.ts";
import { type Rephrased, readRefusal, rephrase, without } from "./rephrase.ts";
import { readFault } from "./upstream-fault.ts";

export async function readBedrockFault(
  reply: WireReply,
  context: FaultContext,
  names: readonly (string | undefined)[],
): Promise<GatewayError> {
  const body = await readRefusal(reply);
  const message = memberOf(body, "message") ?? memberOf(body, "Message");
  const type = reply.headers.get("x-amzn-errortype") ?? memberOf(body, "__type");
  const words = typeof message === "string" ? hidden(without(message, names) ?? "") : undefined;
  return readFault(rephrase(reply, inOpenaiWords(reply.status, String(type), words)), context);
}

/** Names of resources have the account's number in them. */
const hidden = (words: string): string =>
  words.replace(/\barn:aws[\w-]*:[^\s,)'"]+/g, "(resource)").replace(/\b\d{12}\b/g, "***");

/** Of keys, tokens and signatures. docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html */
const aboutCredentials =
  /^(UnrecognizedClient|InvalidClientTokenId|InvalidSignature|SignatureDoesNotMatch|IncompleteSignature|ExpiredToken|RequestExpired|MissingAuthenticationToken)/;

/** `type` may have more behind it: `ValidationException:http://internal.amazon.com/…`. */
function inOpenaiWords(status: number, type: string, message: string | undefined): Rephrased {
  const [name = ""] = type.replace(/^.*#/, "").split(":");
  if (aboutCredentials.test(name)) return { status: 401 };
  switch (name) {
    case "AccessDeniedException":
      // What it says to a bearer key that is no key.
      return { status: /\bAPI Key\b/i.test(message ?? "") ? 401 : 403 };
    case "ThrottlingException":
    case "ServiceQuotaExceededException":
      return { status: 429 };
    case "ModelNotReadyException":
      return { status: 503 };
    case "ResourceNotFoundException":
      return { status: 404, code: "model_not_found" };
    case "ValidationException":
      return /model identifier/i.test(message ?? "")
        ? { status: 404, code: "model_not_found" }
        : { status: 400, message };
    default:
      return { status, ...(status === 400 && { message }) };
  }
}
