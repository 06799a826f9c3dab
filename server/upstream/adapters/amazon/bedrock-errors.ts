/**
 * Maps Amazon Bedrock errors: the error type is in a header, the message in the body, and the status is not reliable.
 */
import type { Adapter } from "../../adapter.ts";
import { codeIn, textIn } from "../wire/members.ts";
import {
  type ErrorMeaning,
  nativeErrorReader,
  type OwnNames,
  type VendorError,
} from "../wire/native-errors.ts";

export const bedrockErrorReader = (names: OwnNames): Adapter["readError"] =>
  nativeErrorReader({
    classify,
    names,
    messageOf: (body) => textIn(body, "message") ?? textIn(body, "Message"),
    redactMessage: withoutNumbers,
  });

/** Resource names (ARNs) contain the account number. */
export const withoutNumbers = (message: string): string =>
  message.replace(/\barn:aws[\w-]*:[^\s,)'"]+/g, "(resource)").replace(/\b\d{12}\b/g, "***");

/** Credential errors. docs.aws.amazon.com/bedrock/latest/userguide/troubleshooting-api-error-codes.html */
const aboutCredentials =
  /^(UnrecognizedClient|InvalidClientTokenId|InvalidSignature|SignatureDoesNotMatch|IncompleteSignature|ExpiredToken|RequestExpired|MissingAuthenticationToken)/;

function classify({ message, body, headers }: VendorError): ErrorMeaning | undefined {
  const type = headers.get("x-amzn-errortype") ?? codeIn(body, "__type");
  // A URL may follow the error type: `ValidationException:http://internal.amazon.com/…`.
  const [name = ""] = type.replace(/^.*#/, "").split(":");
  if (aboutCredentials.test(name)) return "wrong key";
  switch (name) {
    case "AccessDeniedException":
      // The error for an invalid bearer key.
      return /\bAPI Key\b/i.test(message) ? "wrong key" : "forbidden";
    case "ThrottlingException":
    case "ServiceQuotaExceededException":
      return "too fast";
    case "ModelNotReadyException":
      return "busy";
    case "ResourceNotFoundException":
      return "no such model";
    case "ValidationException":
      // docs.aws.amazon.com/nova/latest/userguide/image-gen-errors.html; Titan names the policy as well.
      if (/\bblocked by our content filters\b|\bAWS Responsible AI Policy\b/.test(message)) {
        return "moderated";
      }
      return /model identifier/i.test(message) ? "no such model" : "rejected";
    default:
      return undefined;
  }
}
