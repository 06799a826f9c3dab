/**
 * What all connections of one HTTP server share: the request handler, the clock, the timeouts and the connection limit.
 */
import type { GatewayError } from "../../lib/gateway-error.ts";
import type { OutgoingResponse } from "../../request/http-types.ts";
import type { ServerTime } from "./client-socket.ts";
import type { Holder } from "./connection-holders.ts";
import type { LimitedConnection } from "./connection-limit.ts";
import type { HttpServerOptions } from "./http-server.ts";
import type { RequestHead } from "./parse-head.ts";
import type { HttpRequest } from "./request.ts";

export interface ServerContext extends ServerTime {
  /** Handles a request. Never rejects. */
  onRequest(request: HttpRequest): Promise<OutgoingResponse>;
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
    wait(connection: LimitedConnection, holder: Holder): boolean;
    stopWaiting(connection: LimitedConnection): void;
    mustClose(connection: LimitedConnection): boolean;
    lastResponseSent(connection: LimitedConnection): void;
    requestBegan(connection: LimitedConnection): void;
  };
  /** Called with an internal error that broke off a response. */
  onError(error: unknown): void;
  /** The `date` header line of every response. */
  dateHeader: string;
  /** From now on each response closes its connection. */
  isStopping: boolean;
}

/** The longest time for a TLS handshake. */
const maxHandshakeMs = 10_000;
/** The longest time from the first byte of a head to its last. */
const maxHeadMs = 60_000;
/** Like nginx's lingering_timeout (since the last byte) and lingering_time (in total). */
const lingerMs = 2_000;
const drainMs = 10_000;
/** A client that reads nothing of its response for this long has disconnected. */
const maxWriteMs = 60_000;
/** After this idle time, a connection drops its cached request head. */
const headCacheMs = 5_000;

export function createServerContext(
  options: HttpServerOptions,
  limit: ServerContext["limit"] & { countRefused(): void },
  startedAt: number,
): ServerContext {
  const { bodyMs, idleMs } = options.limits;
  return {
    onRequest: (request) => options.onRequest(request),
    refuse: (error) => options.refuse(error),
    isProbe: (path) => options.isProbe?.(path) ?? false,
    keyIdOf: (headers) => options.keyIdOf?.(headers),
    refuseConnection: () => {
      limit.countRefused();
      return options.refuseConnection();
    },
    limit,
    onError: (error) => options.onError(error),
    now: startedAt,
    dateHeader: dateLine(),
    isStopping: false,
    timeouts: {
      handshakeMs: Math.min(idleMs, maxHandshakeMs),
      headMs: Math.min(idleMs, maxHeadMs),
      idleMs,
      writeMs: Math.min(idleMs, maxWriteMs),
      bodyMs,
      lingerMs,
      drainMs,
      headCacheMs,
    },
  };
}

/** The `date` header line of a response. */
export const dateLine = (): string => `date: ${new Date().toUTCString()}\r\n`;
