/**
 * HTTP/1.1 on Bun's sockets. Bun's own server makes a Request, a Response and their headers for each request, which cost
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
  /** Whether this path is answered on a connection beyond the maximum. Absent: no path is. */
  readonly isProbe?: (path: string) => boolean;
  /** The id of the valid API key that a request carries. Absent: clients are told apart by their addresses only. */
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
  /** From now on each response ends its connection, so that clients that keep theirs go elsewhere. */
  beginStop(): void;
  /**
   * Takes no new connections and closes idle ones; resolves when the open ones are done. `now`: cuts off those with a
   * request in flight, and waits a moment for the clients of the others to notice.
   */
  stop(now: boolean): Promise<void>;
}

/** The longest time from the first byte of a head to its last. */
const mostHeadMs = 60_000;
/** As nginx does with lingering_timeout and lingering_time: after the last byte, and in all. */
const lingerMs = 2_000;
const drainMs = 10_000;
/** The same when the process ends: the time for a request that crosses our FIN on its way. */
const lastLingerMs = 300;
/** A client that reads nothing of its response for so long will not come back for it. */
const mostTakeMs = 60_000;
/** After so long, an idle connection keeps nothing of its last request. */
const forgetMs = 5_000;
/** So much may wait for clients that do not read it, and for so long if it is more. */
const mostUnsentBytes = 256 * 1024 * 1024;
const patientMs = 2_000;

export function startServer(options: ServerOptions): Server {
  const { handle: reply, refuse, onError: onBroken, bodyMs, idleMs, clock } = options;
  const startedAt = clock();
  const limit = new ConnectionLimit<Connection>(
    options.maxConnections,
    startedAt,
    options.onConnectionsRefused,
  );
  const house: ServerContext = {
    handle: reply,
    refuse,
    isProbe: options.isProbe ?? (() => false),
    keyIdOf: options.keyIdOf ?? (() => undefined),
    refuseConnection: () => {
      limit.countRefused();
      return options.refuseConnection();
    },
    limit,
    onError: onBroken,
    now: startedAt,
    dateHeader: dateLine(),
    isStopping: false,
    timeouts: {
      headMs: Math.min(idleMs, mostHeadMs),
      idleMs,
      writeMs: Math.min(idleMs, mostTakeMs),
      bodyMs,
      lingerMs,
      drainMs,
      headCacheMs: forgetMs,
    },
  };
  const tick = (): void => {
    house.now = clock();
    house.dateHeader = dateLine();
    for (const connection of limit.open) connection.checkTimeouts();
    resetSlowReaders(limit.open, house.now);
    limit.check(house.now);
  };
  const ticking = setInterval(tick, Math.min(1000, idleMs / 4, bodyMs / 4));
  // The listening socket is what keeps the process alive.
  ticking.unref();
  let stopped = false;
  const allGone = Promise.withResolvers<void>();
  const forget = ({ data: connection }: Socket): void => {
    connection.onClose();
    limit.delete(connection);
    if (stopped && limit.open.size === 0) allGone.resolve();
  };

  const listener = Bun.listen<Connection>({
    hostname: options.host,
    port: options.port,
    // A client may close its side after the request, and wait for the response.
    allowHalfOpen: true,
    socket: {
      open: (socket) => {
        const connection = new Connection(socket, house);
        socket.data = connection;
        const decision = limit.add(connection);
        if (decision === "serve") return;
        connection.becomeSurplus();
        if (decision === "close") connection.drop();
      },
      data: (socket, bytes) => socket.data.receive(bytes),
      drain: (socket) => socket.data.onDrain(),
      end: (socket) => socket.data.onInputEnd(),
      close: forget,
      // Called with what the others throw: a defect, after which the state of this connection is unknown.
      error: (socket, defect) => {
        onBroken(defect);
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
      house.isStopping = true;
    },
    stop: async (now) => {
      house.isStopping = true;
      stopped = true;
      listener.stop(false);
      for (const connection of limit.open) {
        if (now && connection.isBusy) connection.reset();
        else if (connection.isIdle) connection.linger();
      }
      if (limit.open.size > 0 && now)
        await Promise.race([allGone.promise, Bun.sleep(lastLingerMs)]);
      if (now) for (const connection of limit.open) connection.end();
      if (limit.open.size > 0) await allGone.promise;
      clearInterval(ticking);
      limit.close();
    },
  };
}

const dateLine = (): string => `date: ${new Date().toUTCString()}\r\n`;

type Stuck = Pick<Connection, "unsentBytes" | "lastActivityAt" | "reset">;

/** Unread responses must not fill the memory: the client that has read nothing for longest is cut off first. */
export function resetSlowReaders(connections: Iterable<Stuck>, now: number): void {
  let bytes = 0;
  for (const { unsentBytes } of connections) bytes += unsentBytes;
  if (bytes <= mostUnsentBytes) return;
  const stuck = [...connections].filter(
    ({ unsentBytes, lastActivityAt: since }) => unsentBytes > 0 && now - since > patientMs,
  );
  for (const connection of stuck.sort((a, b) => a.lastActivityAt - b.lastActivityAt)) {
    bytes -= connection.unsentBytes;
    connection.reset();
    if (bytes <= mostUnsentBytes) return;
  }
}
