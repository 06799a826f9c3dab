/** What all connections of one HTTP server share: the request handler, the clock, the timeouts and the connection limit. */

import type { GatewayError } from "../../lib/gateway-error.ts";
import type { OutgoingResponse } from "../../request/http-types.ts";
import type { Holder } from "./connection-holders.ts";
import type { LimitedConnection } from "./connection-limit.ts";
import type { RequestHead } from "./parse-head.ts";
import type { HttpRequest } from "./request.ts";
import type { ServerTime } from "./timeouts.ts";

export interface ServerContext extends ServerTime {
  /** Handles a request. Never rejects. */
  handle(request: HttpRequest): Promise<OutgoingResponse>;
  /** The response to bytes that are not a valid request. */
  refuse(error: GatewayError): OutgoingResponse;
  /** Whether this path is served on a connection beyond the maximum. */
  isProbe(path: string): boolean;
  /** The id of the valid API key that a request carries. Undefined without one. */
  keyIdOf(head: RequestHead): string | undefined;
  /** The response to a connection beyond the maximum. */
  refuseConnection(): OutgoingResponse;
  readonly limit: {
    admit(connection: LimitedConnection, holder: Holder): boolean;
    requestBegan(connection: LimitedConnection): void;
  };
  /** Called with an internal error that broke off a response. */
  onError(error: unknown): void;
  /** The `date` header line of every response. */
  dateHeader: string;
  /** From now on each response closes its connection. */
  isStopping: boolean;
}
