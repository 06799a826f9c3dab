/** How a connection to an upstream fails. */
import { errorCode } from "../../lib/error-code.ts";
import { InvalidHttpResponse } from "./parse-response.ts";

/** No connection was made, so nothing was sent. */
export class NotConnected extends Error {
  override readonly name = "NotConnected";
  readonly code: string;

  constructor(cause: unknown) {
    super("no connection", { cause });
    this.code = errorCode(cause);
  }
}

/**
 * The connection ended before the response was complete, or before a response that certainly belongs to the request.
 */
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
export class CallAborted extends Error {
  override readonly name = "CallAborted";
}
