/**
 * How a connection to an upstream fails, and how failures map to errors: an aborted request, a connection that was
 * never made (such as connection refused), or one that broke.
 */
import { type DescriptorShortage, descriptorShortage } from "../../lib/descriptors.ts";
import { errorCode } from "../../lib/error-code.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { InvalidHttpResponse, ResponseTooLarge } from "./parse-response.ts";

/** Codes of a connection that was never established or not trusted: nothing was sent, nothing can be billed. */
const neverConnectedCodes = new Set([
  "ConnectionRefused",
  "FailedToOpenSocket",
  "DNSResolveFailed",
  "ERR_INVALID_URL",
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "CERT_HAS_EXPIRED",
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

/** Codes for a body that is not compressed in the way its headers say: Bun's, then Node's. */
const decompressionErrors =
  /^(ZlibError|BrotliDecompressionError|ZstdDecompressionError|Z_\w+|ERR__ERROR_\w+|ERR_BROTLI_\w+|ZSTD_\w+)$/;

export const responseTooLargeError = (max: number): GatewayError =>
  new GatewayError("upstream_invalid", `The upstream's response is larger than ${max} bytes.`);

export interface FailedRequest {
  /** The URL of the request. If absent, the connection was made, and its response broke. */
  readonly url?: string;
  /** The most bytes of the response. */
  readonly maxBytes?: number;
}

export function toTransportError(
  error: unknown,
  signal: AbortSignal,
  { url, maxBytes: max }: FailedRequest = {},
): GatewayError {
  // The abort reason is a GatewayError: the deadline, or a client disconnect.
  if (signal.aborted && signal.reason instanceof GatewayError) return signal.reason;
  if (error instanceof GatewayError) return error;
  if (error instanceof ResponseTooLarge && max !== undefined) return responseTooLargeError(max);
  const code = errorCode(error);
  if (decompressionErrors.test(code)) {
    return new GatewayError("upstream_invalid", "The upstream's response cannot be decompressed.", {
      cause: error,
    });
  }
  const unsent = error instanceof NotConnected || neverConnectedCodes.has(code);
  // Bun reports a socket that could not be created as ECONNREFUSED, so the code does not show which side failed.
  const shortage = unsent ? descriptorShortage() : undefined;
  if (shortage) return outOfDescriptors(shortage, error);
  const reason = error instanceof InvalidHttpResponse ? error.message : code || "connection lost";
  return new GatewayError("upstream_unreachable", messageOf(error, unsent), {
    cause: error,
    logDetail: url === undefined ? reason : `${hostOf(url)}: ${reason}`,
    ...(unsent && { notSent: true }),
  });
}

/** The host and port that the request was sent to. A path or query may have a key. */
function hostOf(url: string): string {
  const parsed = URL.parse(url);
  if (!parsed) return "invalid URL";
  const { hostname, port, protocol } = parsed;
  return `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
}

/** The gateway's own shortage: it says nothing about the upstream, and must not count against its health. */
const outOfDescriptors = (shortage: DescriptorShortage, cause: unknown): GatewayError =>
  new GatewayError(
    "overloaded",
    "The gateway has no file descriptor left for a connection to the upstream: no upstream was called. Retry in 1 s; the gateway's operator can raise 'ulimit -n' or lower VEXEL_MAX_CONNECTIONS.",
    {
      cause,
      logDetail: `no file descriptor for an upstream connection (${shortage})`,
      notSent: true,
      retryAfterMs: 1000,
    },
  );

function messageOf(error: unknown, unsent: boolean): string {
  if (unsent) return "The upstream cannot be reached.";
  return error instanceof InvalidHttpResponse
    ? "The upstream did not respond with valid HTTP. Ask the operator of this gateway to check the upstream's baseUrl."
    : "The connection to the upstream was lost before its response was complete.";
}

/** No connection was made, so nothing was sent. */
export class NotConnected extends Error {
  override readonly name = "NotConnected";
  readonly code: string;

  constructor(cause: unknown) {
    super("no connection", { cause });
    this.code = errorCode(cause);
  }
}

/** The connection ended before there was a complete response that certainly belongs to the request. */
export class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
  /** No byte of the response had arrived. */
  readonly silent: boolean;

  constructor(silent: boolean, cause?: unknown) {
    super("the connection broke", { cause });
    this.silent = silent;
  }
}

/** A response that may not belong to its request: one of two, or one that came before the request was read. */
export class AmbiguousResponse extends InvalidHttpResponse {}

/** The request was aborted by its signal. */
export class RequestAborted extends Error {
  override readonly name = "RequestAborted";
}
