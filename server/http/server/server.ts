/**
 * HTTP/1.1 server on Bun's sockets. Bun.serve creates a Request, a Response and their headers for each request, which cost
 * more than everything a cached vector needs; docs/decisions/0030-http-server-on-sockets.md has the figures.
 */

import type { OutgoingResponse } from "../../request/http-types.ts";
import { Connection, type Socket } from "./connection.ts";
import {
  type ConnectionCounts,
  ConnectionLimit,
  type ConnectionReport,
} from "./connection-limit.ts";
import type { ServerContext } from "./server-context.ts";

export interface ServerOptions {
  readonly host: string;
  readonly port: number;
  readonly handle: ServerContext["handle"];
  readonly refuse: ServerContext["refuse"];
  readonly onError: ServerContext["onError"];
  readonly bodyMs: number;
  readonly idleMs: number;
  readonly maxConnections: number;
  /** The response to a connection beyond the maximum. Called for each, so it must be cheap. */
  readonly refuseConnection: () => OutgoingResponse;
  /** Whether this path is served on a connection beyond the maximum. Absent: no path is. */
  readonly isProbe?: (path: string) => boolean;
  /** The id of the valid API key that a request carries. Absent: connections are shared among addresses, not keys. */
  readonly keyIdOf?: ServerContext["keyIdOf"];
  readonly onConnectionsRefused: (report: ConnectionReport) => void;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export interface Server {
  readonly port: number;
  /** Requests whose response has not been written to the last byte. */
  pending(): number;
  connections(): ConnectionCounts;
  /** From now on each response closes its connection, so that keep-alive clients connect elsewhere. */
  beginStop(): void;
  /**
   * Accepts no new connections and closes idle ones; resolves when the open ones are closed. `now`: resets those with a
   * request in flight, and gives the clients of the others a short time to close.
   */
  stop(now: boolean): Promise<void>;
}

/** The longest time from the first byte of a head to its last. */
const maxHeadMs = 60_000;
/** Like nginx's lingering_timeout (since the last byte) and lingering_time (in total). */
const lingerMs = 2_000;
const drainMs = 10_000;
/** Lingering timeout at shutdown: the time for a request that crosses our FIN in the network. */
const shutdownLingerMs = 300;
/** A client that reads nothing of its response for this long has disconnected. */
const maxWriteMs = 60_000;
/** After this idle time, a connection drops its cached request head. */
const headCacheMs = 5_000;
/**
 * The limit of backpressure: unread bytes of the responses of all clients. Above it, clients that have read nothing for
 * `slowReaderMs` are reset.
 */
const maxUnsentBytes = 256 * 1024 * 1024;
const slowReaderMs = 2_000;

export function startServer(options: ServerOptions): Server {
  const { handle, refuse, onError, bodyMs, idleMs, clock } = options;
  const startedAt = clock();
  const limit = new ConnectionLimit<Connection>(
    options.maxConnections,
    startedAt,
    options.onConnectionsRefused,
  );
  const context: ServerContext = {
    handle,
    refuse,
    isProbe: options.isProbe ?? (() => false),
    keyIdOf: options.keyIdOf ?? (() => undefined),
    refuseConnection: () => {
      limit.countRefused();
      return options.refuseConnection();
    },
    limit,
    onError,
    now: startedAt,
    dateHeader: dateLine(),
    isStopping: false,
    timeouts: {
      headMs: Math.min(idleMs, maxHeadMs),
      idleMs,
      writeMs: Math.min(idleMs, maxWriteMs),
      bodyMs,
      lingerMs,
      drainMs,
      headCacheMs,
    },
  };
  const tick = (): void => {
    context.now = clock();
    context.dateHeader = dateLine();
    for (const connection of limit.open) connection.checkTimeouts();
    resetSlowReaders(limit.open, context.now);
    limit.check(context.now);
  };
  const ticker = setInterval(tick, Math.min(1000, idleMs / 4, bodyMs / 4));
  // The listening socket is what keeps the process alive.
  ticker.unref();
  let stopped = false;
  const allClosed = Promise.withResolvers<void>();
  const onClose = ({ data: connection }: Socket): void => {
    connection.onClose();
    limit.delete(connection);
    if (stopped && limit.open.size === 0) allClosed.resolve();
  };

  const listener = Bun.listen<Connection>({
    hostname: options.host,
    port: options.port,
    // A client may close its side after the request, and wait for the response.
    allowHalfOpen: true,
    socket: {
      open: (socket) => {
        const connection = new Connection(socket, context);
        socket.data = connection;
        const decision = limit.add(connection);
        if (decision === "serve") return;
        connection.becomeSurplus();
        if (decision === "close") connection.drop();
      },
      data: (socket, bytes) => socket.data.receive(bytes),
      drain: (socket) => socket.data.onDrain(),
      end: (socket) => socket.data.onInputEnd(),
      close: onClose,
      // Called with what the other callbacks throw: a bug, after which the state of this connection is unknown.
      error: (socket, error) => {
        onError(error);
        socket.data.reset();
      },
    },
  });

  return {
    port: listener.port,
    pending: () => {
      let count = 0;
      for (const { isBusy } of limit.open) if (isBusy) count++;
      return count;
    },
    connections: () => limit.counts,
    beginStop: () => {
      context.isStopping = true;
    },
    stop: async (now) => {
      context.isStopping = true;
      stopped = true;
      listener.stop(false);
      for (const connection of limit.open) {
        if (now && connection.isBusy) connection.reset();
        else if (connection.isIdle) connection.linger();
      }
      if (limit.open.size > 0 && now)
        await Promise.race([allClosed.promise, Bun.sleep(shutdownLingerMs)]);
      if (now) for (const connection of limit.open) connection.end();
      if (limit.open.size > 0) await allClosed.promise;
      clearInterval(ticker);
      limit.close();
    },
  };
}

const dateLine = (): string => `date: ${new Date().toUTCString()}\r\n`;

type Reader = Pick<Connection, "unsentBytes" | "lastActivityAt" | "reset">;

/** Unread responses must not fill the memory: the client that has read nothing for longest is reset first. */
export function resetSlowReaders(connections: Iterable<Reader>, now: number): void {
  let bytes = 0;
  for (const { unsentBytes } of connections) bytes += unsentBytes;
  if (bytes <= maxUnsentBytes) return;
  const slow = [...connections].filter(
    ({ unsentBytes, lastActivityAt: since }) => unsentBytes > 0 && now - since > slowReaderMs,
  );
  for (const connection of slow.sort((a, b) => a.lastActivityAt - b.lastActivityAt)) {
    bytes -= connection.unsentBytes;
    connection.reset();
    if (bytes <= maxUnsentBytes) return;
  }
}
