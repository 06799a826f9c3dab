/**
 * Why an image could not be downloaded, and the error that the client gets: it depends on whether the client or the
 * upstream gave the link.
 */
import { errorCode } from "../../lib/error-code.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import {
  ConnectionLost,
  InvalidHttpResponse,
  NotConnected,
  ResponseTooLarge,
} from "../transport/index.ts";

/** Where the link comes from: an upstream's response, or this field of a client's request. */
export type LinkOrigin = "upstream" | { readonly param: string };

/** `invalid`: the link or its content cannot be used. `unreachable`: a retry may help. `timeout`: it took too long. */
type FailureKind = "invalid" | "unreachable" | "timeout";

export class DownloadError extends Error {
  override readonly name = "DownloadError";
  readonly kind: FailureKind;
  /** For the log only. */
  readonly logged: string;
  /** A more precise reason, for clients that did not choose the link. */
  readonly detail: string;

  constructor(kind: FailureKind, reason: string, logged: string, detail = reason) {
    super(reason);
    this.kind = kind;
    this.logged = logged;
    this.detail = detail;
  }
}

/** Other errors are returned unchanged. */
export function toDownloadError(error: unknown, maxBytes: number): unknown {
  if (error instanceof ResponseTooLarge) {
    return new DownloadError("invalid", `it is larger than ${maxBytes} bytes`, "too large");
  }
  if (error instanceof InvalidHttpResponse) {
    return new DownloadError("invalid", "its host did not respond with valid HTTP", error.message);
  }
  if (error instanceof NotConnected) {
    return new DownloadError(
      "unreachable",
      "its host cannot be reached",
      error.code || "no connection",
    );
  }
  if (error instanceof ConnectionLost) {
    const code = errorCode(error.cause) || "connection lost";
    return new DownloadError(
      "unreachable",
      "the connection was lost before the download was complete",
      code,
    );
  }
  return error;
}

const errorKinds = {
  invalid: "upstream_invalid",
  unreachable: "upstream_unreachable",
  timeout: "upstream_timeout",
} as const;

/** Messages never contain the link: it may be a secret. */
export function downloadErrorToGatewayError(
  { kind, message, logged, detail }: DownloadError,
  origin: LinkOrigin,
  host: string,
): GatewayError {
  const details = { logDetail: host === "" ? logged : `${host}: ${logged}` };
  return origin === "upstream"
    ? new GatewayError(
        errorKinds[kind],
        `The image at the upstream's link cannot be used: ${detail}.`,
        { ...details, mayBeBilled: true },
      )
    : new GatewayError(
        "invalid_value",
        `The image at the link in '${origin.param}' cannot be used: ${message}.`,
        { ...details, param: origin.param },
      );
}
