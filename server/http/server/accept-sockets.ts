/** Accepts the sockets of clients, with or without TLS, and creates a connection for each. */
import type { ByteSocket } from "./client-socket.ts";
import type { Connection } from "./connection.ts";
import type { TlsCredentials } from "./http-server.ts";

/** ALPN, in its wire format: each protocol with its length. HTTP/2 is not offered. */
const alpnProtocols = Buffer.from("\x08http/1.1\x08http/1.0");
/** The first byte of a TLS handshake. */
const handshakeRecord = 0x16;

export interface SocketEvents {
  /** Creates the connection of a new socket. `isEncrypted`: its TLS handshake begins. */
  create(socket: ByteSocket, isEncrypted: boolean): Connection;
  opened(connection: Connection): void;
  closed(connection: Connection): void;
  /** The response to a client that speaks plain HTTP where TLS is served. */
  refusePlainHttp(): string;
  onError(error: unknown): void;
}

export interface AcceptOptions {
  readonly host: string;
  readonly port: number;
  /** The current credentials, for the next connection. Absent: plain HTTP. */
  readonly tls?: () => TlsCredentials;
}

type Listener = Pick<Bun.TCPSocketListener<unknown>, "port" | "stop">;

export function acceptSockets({ host, port, tls }: AcceptOptions, events: SocketEvents): Listener {
  // A client may close its side after the request, and wait for the response.
  const address = { hostname: host, port, allowHalfOpen: true };
  if (!tls) return Bun.listen<Connection>({ ...address, socket: plainHandler(events) });
  return Bun.listen<RawState>({ ...address, socket: upgradingHandler(tls, events) });
}

function plainHandler(events: SocketEvents): Bun.SocketHandler<Connection> {
  return {
    open: (socket) => {
      socket.data = events.create(socket, false);
      events.opened(socket.data);
    },
    data: ({ data: connection }, bytes) => connection.receive(bytes),
    drain: ({ data: connection }) => connection.socket.onDrain(),
    end: ({ data: connection }) => connection.onInputEnd(),
    close: ({ data: connection }) => events.closed(connection),
    // Called with what the other callbacks throw: a bug, after which the state of this connection is unknown.
    error: ({ data: connection }, error) => {
      events.onError(error);
      connection.socket.reset();
    },
  };
}

/** The handler of decrypted bytes. */
function tlsHandler(events: SocketEvents): Bun.SocketHandler<Connection> {
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
 * listens; this takes the current one for each connection. Bun's types do not have `isServer`, with which its
 * `node:tls` makes the server side of a connection.
 */
function upgradingHandler(
  credentials: () => TlsCredentials,
  events: SocketEvents,
): Bun.SocketHandler<RawState> {
  const socketHandler = tlsHandler(events);
  return {
    open: (socket) => {
      socket.data = { hasReceived: false };
      const { cert, key } = credentials();
      const upgrade = {
        isServer: true,
        tls: { cert, key, ALPNProtocols: alpnProtocols },
        socket: socketHandler,
      };
      const [raw] = socket.upgradeTLS<Connection>(upgrade);
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
