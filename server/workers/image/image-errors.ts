/** Error mapping of the image worker: an error of the client for uploads, of the upstream for generated images. */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { FailureReason } from "./messages.ts";

/** The client's parameter that holds the image. If absent, an upstream sent it. */
export type Field = string | undefined;

export function toImageError(reason: FailureReason, problem: string, field: Field): GatewayError {
  if (reason === "unwritable" || reason === "unreachable") return writeFailed(problem);
  if (field === undefined) return generatedImageError(reason, problem);
  const kind = reason === "unknown" ? "unsupported_file_mimetype" : "invalid_image_file";
  return new GatewayError(kind, `Invalid file '${field}': the image ${problem}.`, {
    param: field,
  });
}

/** A generated image may be valid although the gateway cannot convert it; only an undecodable one is not usable. */
function generatedImageError(reason: FailureReason, problem: string): GatewayError {
  if (reason === "undecodable") {
    return new GatewayError(
      "upstream_invalid",
      `The upstream's response is not usable: its image ${problem}.`,
    );
  }
  const kind = reason === "unknown" ? "unsupported_file_mimetype" : "overloaded";
  return new GatewayError(kind, `An image could not be converted: it ${problem}.`);
}

export const writeFailed = (cause: unknown): GatewayError =>
  new GatewayError("storage_unavailable", "An image could not be written to disk.", {
    cause,
    retryAfterMs: 5000,
  });

export function imageTooLarge(maxBytes: number, field: Field): GatewayError {
  return field === undefined
    ? generatedImageError("too costly", `is larger than ${maxBytes} bytes`)
    : new GatewayError(
        "request_too_large",
        `The file '${field}' is larger than the ${maxBytes} bytes that are allowed.`,
        { param: field },
      );
}

export function tooSlow(ms: number, field: Field): GatewayError {
  const seconds = Math.round(ms / 100) / 10;
  return field === undefined
    ? new GatewayError("overloaded", `An image could not be converted within ${seconds} seconds.`, {
        retryAfterMs: 5000,
      })
    : new GatewayError(
        "invalid_image_file",
        `Invalid file '${field}': the image could not be decoded within ${seconds} seconds, which is far more than an image of its size takes. Save it anew with another program.`,
        { param: field },
      );
}
