/** What all connections of one server share. */

import type { GatewayError } from "../../lib/gateway-error.ts";
import type { OutgoingResponse } from "../../request/http-types.ts";
import type { Connection } from "./connection.ts";
import type { ConnectionLimit } from "./connection-limit.ts";
import type { RequestHead } from "./parse-head.ts";
import type { HttpRequest } from "./request.ts";

export interface ServerContext {
  /** Never rejects. */
  handle(exchange: HttpRequest): Promise<OutgoingResponse>;
  /** To what is no request. */
  refuse(error: GatewayError): OutgoingResponse;
  /** Whether this path is answered although there are too many connections. */
  isProbe(path: string): boolean;
  /** The id of the valid API key that a request carries. Undefined without one. */
  keyIdOf(head: RequestHead): string | undefined;
  /** The response to a connection beyond the maximum. */
  refuseConnection(): OutgoingResponse;
  readonly limit: Pick<ConnectionLimit<Connection>, "admit" | "requestBegan">;
  /** Told of an answer that broke off on our side. */
  onError(error: unknown): void;
  /** Milliseconds, monotonic, a second old at most: asking a clock each time would cost as much as finding the route. */
  now: number;
  /** A line for the head of each answer. */
  dateHeader: string;
  /** From now on each answer ends its connection. */
  isStopping: boolean;
  readonly timeouts: Timeouts;
}

/** How long nothing may happen where something should. In milliseconds. */
export interface Timeouts {
  /** For a whole head, from its first byte. */
  readonly headMs: number;
  /** Between requests. */
  readonly idleMs: number;
  /** For the caller to take more of an answer. */
  readonly writeMs: number;
  /** For more of a body that nobody reads. */
  readonly bodyMs: number;
  /** For the client to notice that we have closed, after its last byte. */
  readonly lingerMs: number;
  /** For all of a body that nobody reads, and for all that arrives after the last response. */
  readonly drainMs: number;
  /** For the next request to have the same head. */
  readonly headCacheMs: number;
}
