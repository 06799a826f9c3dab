/**
 * Implements the HTTP server on Bun's sockets. Bun.serve creates a Request, a Response and their headers for each
 * request, which cost more than everything a cached vector needs; docs/decisions/0030-http-server-on-sockets.md has the
 * figures.
 */

import type { GatewayError } from "../../lib/gateway-error.ts";
import { acceptSockets } from "./accept-sockets.ts";
import { Connection } from "./connection.ts";
import type { ConnectionEntry } from "./connection-entry.ts";
import { ConnectionLimit } from "./connection-limit.ts";
import type { HttpServer, HttpServerOptions } from "./http-server.ts";
import { invalidHttp } from "./parse-head.ts";
import { closingResponse } from "./response-head.ts";
import { createServerContext, dateLine } from "./server-context.ts";
import { resetSlowReaders } from "./slow-readers.ts";

/** Lingering timeout at shutdown: the time for a request that crosses our FIN in the network. */
const shutdownLingerMs = 300;

export function startServer(options: HttpServerOptions): HttpServer {
  const { bodyMs, idleMs, maxConnections } = options.limits;
  const startedAt = options.clock();
  const limit = new ConnectionLimit<ConnectionEntry<Connection>>(
    maxConnections,
    startedAt,
    (report) => options.onConnectionsRefused(report),
  );
  const context = createServerContext(options, limit, startedAt);
  const tick = (): void => {
    context.now = options.clock();
    context.dateHeader = dateLine();
    for (const { connection } of limit.open) connection.checkTimeouts();
    resetSlowReaders(
      [...limit.open].map(({ connection }) => connection.socket),
      context.now,
    );
    limit.check(context.now);
  };
  const ticker = setInterval(tick, Math.min(1000, idleMs / 4, bodyMs / 4));
  // The listening socket is what keeps the process alive.
  ticker.unref();
  let stopped = false;
  const allClosed = Promise.withResolvers<void>();
  const listener = acceptSockets(options, {
    create: (socket, isEncrypted) => new Connection(socket, context, isEncrypted),
    opened: ({ entry }) => {
      const decision = limit.add(entry);
      if (decision !== "serve") entry.becomeSurplus();
      if (decision === "close") entry.drop();
    },
    closed: ({ socket, entry }) => {
      socket.onClose();
      limit.delete(entry);
      if (stopped && limit.open.size === 0) allClosed.resolve();
    },
    refusePlainHttp: () => closingResponse(options.refuse(plainHttp()), context.dateHeader),
    onError: context.onError,
  });

  return {
    port: listener.port,
    pending: () => {
      let count = 0;
      for (const { connection } of limit.open) if (connection.socket.isBusy) count++;
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
      for (const { connection } of limit.open) {
        if (now && connection.socket.isBusy) connection.socket.reset();
        else if (connection.socket.isInHandshake) connection.socket.reset();
        else if (connection.socket.isIdle) connection.linger();
      }
      if (limit.open.size > 0 && now)
        await Promise.race([allClosed.promise, Bun.sleep(shutdownLingerMs)]);
      if (now) for (const { connection } of limit.open) connection.socket.end();
      if (limit.open.size > 0) await allClosed.promise;
      clearInterval(ticker);
      limit.close();
    },
  };
}

const plainHttp = (): GatewayError =>
  invalidHttp("it was sent without TLS, and the gateway serves HTTPS here (https://, not http://)");
