/**
 * Implements the HTTP server on Bun's sockets. Bun.serve creates a Request, a Response and their headers for each
 * request; docs/decisions/0030-http-server-on-sockets.md compares both.
 */

import type { GatewayError } from "../../lib/gateway-error.ts";
import { withTimeout } from "../../lib/timers.ts";
import type { ByteSocket } from "./client-socket.ts";
import { ClientConnection } from "./connection.ts";
import { ConnectionLimit } from "./connection-limit.ts";
import type { HttpServer, HttpServerOptions } from "./http-server.ts";
import { invalidHttp } from "./refuse-client.ts";
import { createServerContext, dateLine } from "./server-context.ts";
import { closingResponse, resetSlowReaders } from "./socket-writer.ts";

/** Lingering timeout at shutdown: the time for a request that crosses our FIN in the network. */
const shutdownLingerMs = 300;

export function startServer(options: HttpServerOptions): HttpServer {
  const { bodyMs, idleMs, maxConnections } = options.limits;
  const startedAt = options.clock();
  const limit = new ConnectionLimit<ClientConnection>(maxConnections, (report) =>
    options.onConnectionsRefused(report),
  );
  const context = createServerContext(options, limit, startedAt);
  const tick = (): void => {
    context.now = options.clock();
    context.dateHeader = dateLine();
    for (const connection of limit.open) connection.checkTimeouts();
    resetSlowReaders(
      [...limit.open].map(({ socket }) => socket),
      context.now,
    );
    limit.check(context.now);
  };
  // One tick for all connections: their timeouts need a precision of a second, and every request would restart a timer
  // of its connection. A disconnect does not wait for the tick: the socket reports it at once.
  const ticker = setInterval(tick, Math.min(1000, idleMs / 4, bodyMs / 4));
  // The listening socket is what keeps the process alive.
  ticker.unref();
  let stopped = false;
  const allClosed = Promise.withResolvers<void>();
  const listener = acceptSockets(options, {
    create: (socket, isEncrypted) => new ClientConnection(socket, context, isEncrypted),
    opened: (connection) => limit.add(connection),
    closed: (connection) => {
      connection.socket.onClose();
      limit.delete(connection);
      if (stopped && limit.open.size === 0) allClosed.resolve();
    },
    refusePlainHttp: () => closingResponse(options.refuse(plainHttp()), context.dateHeader),
    onError: context.onError,
  });

  return {
    port: listener.port,
    pending: () => {
      let count = 0;
      for (const { socket } of limit.open) if (socket.isBusy) count++;
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
      for (const connection of limit.open) stopConnection(connection, now);
      if (limit.open.size > 0 && now) await withTimeout(allClosed.promise, shutdownLingerMs);
      if (now) for (const { socket } of limit.open) socket.end();
      if (limit.open.size > 0) await allClosed.promise;
      clearInterval(ticker);
      limit.close();
    },
  };
}

/** Closes a connection that serves no request. `now`: also one that does. */
function stopConnection(connection: ClientConnection, now: boolean): void {
  const { isBusy, isInHandshake, isIdle } = connection.socket;
  if (isInHandshake || (now && isBusy)) connection.socket.reset();
  else if (isIdle) connection.linger();
}

const plainHttp = (): GatewayError =>
  invalidHttp("it was sent without TLS, and the gateway serves HTTPS here (https://, not http://)");

/** ALPN, in its wire format: each protocol with its length. HTTP/2 is not offered. */
const alpnProtocols = Buffer.from("\x08http/1.1\x08http/1.0");
/**
 * The cipher suites of TLS 1.2: with forward secrecy and authenticated encryption, so without static RSA and CBC. The
 * same as those of Mozilla's intermediate configuration, without DHE. TLS 1.3 has no others.
 */
const ciphers = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");
/** The first byte of a TLS handshake. */
const handshakeRecord = 0x16;

interface SocketEvents {
  /** Creates the connection of a new socket. `isEncrypted`: its TLS handshake begins. */
  create(socket: ByteSocket, isEncrypted: boolean): ClientConnection;
  opened(connection: ClientConnection): void;
  closed(connection: ClientConnection): void;
  /** The response to a client that speaks plain HTTP where TLS is served. */
  refusePlainHttp(): string;
  onError(error: unknown): void;
}

type Listener = Pick<Bun.TCPSocketListener<unknown>, "port" | "stop">;

/** Accepts the sockets of clients, with or without TLS, and creates a connection for each. */
function acceptSockets(
  { host, port, tls, reusePort }: HttpServerOptions,
  events: SocketEvents,
): Listener {
  // A client may close its side after the request, and wait for the response.
  const address = { hostname: host, port, allowHalfOpen: true, reusePort };
  if (!tls) return Bun.listen<ClientConnection>({ ...address, socket: plainHandler(events) });
  return Bun.listen<RawState>({ ...address, socket: upgradingHandler(tls, events) });
}

function plainHandler(events: SocketEvents): Bun.SocketHandler<ClientConnection> {
  return {
    open: (socket) => {
      socket.data = events.create(socket, false);
      events.opened(socket.data);
    },
    data: ({ data: connection }, bytes) => connection.receive(bytes),
    drain: ({ data: connection }) => connection.socket.onDrain(),
    end: ({ data: connection }) => connection.onInputEnd(),
    close: ({ data: connection }) => events.closed(connection),
    // Called with an error that another callback has thrown: a bug, after which the state of the connection is unknown.
    error: ({ data: connection }, error) => {
      events.onError(error);
      connection.socket.reset();
    },
  };
}

/** The handler of decrypted bytes. */
function tlsHandler(events: SocketEvents): Bun.SocketHandler<ClientConnection> {
  return {
    ...plainHandler(events),
    open: (socket) => {
      socket.data = events.create(socket, true);
      events.opened(socket.data);
    },
    // After a failed handshake, Bun closes the socket.
    handshake: ({ data: connection }, success) => {
      if (success) connection.socket.onHandshake();
    },
    // Also called when the client breaks the TLS session, which is not a bug of the gateway.
    error: ({ data: connection }, error) => {
      if (!isTlsFailure(error)) events.onError(error);
      connection.socket.reset();
    },
  };
}

/** The state of an encrypted socket below TLS. */
interface RawState {
  hasReceived: boolean;
}

/**
 * Accepts a socket and upgrades it to TLS. `Bun.listen({ tls })` would use its first certificate for as long as it
 * listens; this function uses the current certificate for each connection (certificate reload). Bun's types do not
 * have `isServer`, with which Bun's `node:tls` makes the server side of a connection.
 */
function upgradingHandler(
  credentials: NonNullable<HttpServerOptions["tls"]>,
  events: SocketEvents,
): Bun.SocketHandler<RawState> {
  const socketHandler = tlsHandler(events);
  return {
    open: (socket) => {
      socket.data = { hasReceived: false };
      const { cert, key } = credentials();
      const upgrade = {
        isServer: true,
        tls: { cert, key, ciphers, ALPNProtocols: alpnProtocols },
        socket: socketHandler,
      };
      const [raw] = socket.upgradeTLS<ClientConnection>(upgrade);
      (raw as unknown as Bun.Socket<RawState>).data = socket.data;
    },
    // Called with the encrypted bytes, before they are decrypted.
    data: (socket, bytes) => {
      if (socket.data.hasReceived) return;
      socket.data.hasReceived = true;
      if (bytes[0] !== handshakeRecord) socket.write(events.refusePlainHttp());
    },
    error: (socket, error) => {
      events.onError(error);
      socket.terminate();
    },
  };
}

const isTlsFailure = (error: Error): boolean =>
  "code" in error && typeof error.code === "string" && /^(?:E[A-Z]+|ERR_SSL\w*)$/.test(error.code);
