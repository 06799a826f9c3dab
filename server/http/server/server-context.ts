/**
 * The context that all connections of one HTTP server share: the request handler, the clock, the timeouts (such as the
 * TLS handshake timeout) and the connection limit.
 */
import type { ServerTime } from "./client-socket.ts";
import type { ConnectionLimit, LimitedConnection } from "./connection-limit.ts";
import type { HttpServerOptions } from "./http-server.ts";

type Handler = "onRequest" | "refuse" | "refuseConnection" | "isProbe" | "onError";

export interface ServerContext extends ServerTime, Pick<HttpServerOptions, Handler> {
  readonly limit: Pick<ConnectionLimit<LimitedConnection>, "admit" | "becameIdle">;
  /** The `date` header line of every response. */
  dateHeader: string;
  /** From now on each response closes its connection. */
  isStopping: boolean;
}

/** The longest time for a TLS handshake. */
const maxHandshakeMs = 10_000;
/** The longest time from the first byte of a head to its last. */
const maxHeadMs = 60_000;
/** The longest time between two bytes that arrive after the last response, like nginx's lingering_timeout. */
const lingerIdleMs = 2_000;
/** The longest time for all bytes that are discarded, like nginx's lingering_time. */
const lingerTotalMs = 10_000;
/** A client that reads its response below the minimum rate for this long counts as disconnected. */
const maxWriteMs = 60_000;
/** After this idle time, a connection drops its cached request head. */
const headCacheMs = 5_000;

export function createServerContext(
  options: HttpServerOptions,
  limit: ServerContext["limit"] & { countRefused(): void },
  startedAt: number,
): ServerContext {
  const { onRequest, refuse, onError, isProbe } = options;
  const { bodyMs, idleMs } = options.limits;
  return {
    onRequest,
    refuse,
    onError,
    isProbe,
    refuseConnection: () => {
      limit.countRefused();
      return options.refuseConnection();
    },
    limit,
    now: startedAt,
    dateHeader: dateLine(),
    isStopping: false,
    timeouts: {
      handshakeMs: Math.min(idleMs, maxHandshakeMs),
      headMs: Math.min(idleMs, maxHeadMs),
      idleMs,
      writeMs: Math.min(idleMs, maxWriteMs),
      bodyMs,
      lingerIdleMs,
      lingerTotalMs,
      headCacheMs,
    },
  };
}

/** The `date` header line of a response. */
export const dateLine = (): string => `date: ${new Date().toUTCString()}\r\n`;
