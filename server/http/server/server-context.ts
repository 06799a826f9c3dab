/** What all connections of one HTTP server share: the request handler, the clock, the timeouts and the connection limit. */

import type { GatewayError } from "../../lib/gateway-error.ts";
import type { OutgoingResponse } from "../../request/http-types.ts";
import type { Connection } from "./connection.ts";
import type { ConnectionLimit } from "./connection-limit.ts";
import type { RequestHead } from "./parse-head.ts";
import type { HttpRequest } from "./request.ts";

export interface ServerContext {
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
  readonly limit: Pick<ConnectionLimit<Connection>, "admit" | "requestBegan">;
  /** Called with an internal error that broke off a response. */
  onError(error: unknown): void;
  /** Milliseconds, monotonic, up to a second old: reading the clock each time would cost as much as finding the route. */
  now: number;
  /** The `date` header line of every response. */
  dateHeader: string;
  /** From now on each response closes its connection. */
  isStopping: boolean;
  readonly timeouts: Timeouts;
}

/** In milliseconds. */
export interface Timeouts {
  /** For a whole request head, from its first byte. */
  readonly headMs: number;
  /** For the next request on a keep-alive connection. */
  readonly idleMs: number;
  /** For the client to read more of a response. */
  readonly writeMs: number;
  /** For more of a body that is being discarded. */
  readonly bodyMs: number;
  /** For the client to close after our FIN, since its last byte. */
  readonly lingerMs: number;
  /** For all of a body that is being discarded, and for all bytes that arrive after the last response. */
  readonly drainMs: number;
  /** For how long an idle connection keeps its last request head, which the next request often repeats. */
  readonly headCacheMs: number;
}
