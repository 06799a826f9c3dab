/**
 * Refuses clients: the errors for bytes that are not a request, and the last response of a connection, after which it
 * is closed.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { ClientSocket } from "./client-socket.ts";
import type { ServerContext } from "./server-context.ts";
import { closingResponse } from "./socket-writer.ts";

export const invalidHttp = (reason: string, status?: number): GatewayError =>
  new GatewayError(
    "invalid_http",
    `The request is not valid HTTP/1.1: ${reason}.`,
    status === undefined ? {} : { overrides: { status } },
  );

/**
 * Bytes that cannot start a request. They are refused before the head is complete: such a client waits for a response.
 */
export function checkFirstBytes(bytes: Uint8Array, start: number): GatewayError | undefined {
  const first = bytes[start];
  // Nothing yet, or the first half of a line break.
  if (first === undefined || (first === 0x0d && bytes.length === start + 1)) return undefined;
  if (first === 0x16) {
    return invalidHttp(
      "the client started a TLS handshake, and the gateway serves plain HTTP (http://, not https://)",
    );
  }
  if (first < 0x21 || first > 0x7e) return invalidHttp("its first byte cannot start a request");
  const end = bytes.indexOf(0x0a, start);
  return end > 0 && bytes[end - 1] !== 0x0d
    ? invalidHttp("its lines must end in CR LF")
    : undefined;
}

/** The members of a connection that a refusal uses. */
export interface RefusedConnection {
  readonly socket: ClientSocket;
  linger(): void;
  onError(error: unknown): void;
}

/** The client has sent bytes that are not a request. */
export function refuseHead(
  connection: RefusedConnection,
  server: ServerContext,
  error: GatewayError,
): void {
  const refusal = server.refuse(error, connection.socket.remoteAddress);
  write(connection, closingResponse(refusal, server.dateHeader));
}

/** The connection exceeds the maximum. */
export function refuseConnection(connection: RefusedConnection, server: ServerContext): void {
  // Before the end of the handshake, a client cannot read a response.
  if (connection.socket.isInHandshake) connection.socket.reset();
  else write(connection, closingResponse(server.refuseConnection(), server.dateHeader));
}

function write(connection: RefusedConnection, response: string): void {
  const { socket } = connection;
  const sending = socket.writer.write(response);
  socket.phase.enter("busy");
  if (sending) sending.then(() => connection.linger()).catch(connection.onError);
  else connection.linger();
}
