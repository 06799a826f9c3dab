/** Writes the last response of a connection whose client has to be refused, and closes it. */
import type { GatewayError } from "../../lib/gateway-error.ts";
import type { ClientSocket } from "./client-socket.ts";
import { Http2Unsupported, http2Response } from "./http2.ts";
import type { ServerContext } from "./server-context.ts";
import { closingResponse } from "./socket-writer.ts";

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
  const refusal = server.refuse(error);
  const isHttp2 = error instanceof Http2Unsupported;
  write(
    connection,
    isHttp2 ? http2Response(refusal, error.stream) : closingResponse(refusal, server.dateHeader),
  );
}

/** The connection exceeds the maximum. */
export function refuseConnection(connection: RefusedConnection, server: ServerContext): void {
  // Before the end of the handshake, a client cannot read a response.
  if (connection.socket.isInHandshake) connection.socket.reset();
  else write(connection, closingResponse(server.refuseConnection(), server.dateHeader));
}

function write(connection: RefusedConnection, response: string | Uint8Array): void {
  const { socket } = connection;
  const sending = socket.writer.write(response);
  socket.phase.enter("busy");
  if (sending) sending.then(() => connection.linger()).catch(connection.onError);
  else connection.linger();
}
