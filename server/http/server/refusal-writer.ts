/** Writes the last response of a connection whose client has to be refused, and closes it. */
import type { GatewayError } from "../../lib/gateway-error.ts";
import type { OutgoingResponse } from "../../request/http-types.ts";
import type { ClientSocket } from "./client-socket.ts";
import { Http2Unsupported, http2Response } from "./http2.ts";
import { closingResponse } from "./response-head.ts";
import type { ServerContext } from "./server-context.ts";

export interface RefusalEvents {
  /** The refusal has been written. */
  onSent(): void;
  onError(error: unknown): void;
}

export class RefusalWriter {
  readonly #socket: ClientSocket;
  readonly #server: ServerContext;
  readonly #events: RefusalEvents;

  constructor(socket: ClientSocket, server: ServerContext, events: RefusalEvents) {
    this.#socket = socket;
    this.#server = server;
    this.#events = events;
  }

  /** The client has sent bytes that are not a request. */
  refuseHead(error: GatewayError): void {
    const refusal = this.#server.refuse(error);
    if (error instanceof Http2Unsupported) this.#write(http2Response(refusal, error.stream));
    else this.#refuse(refusal);
  }

  /** The connection exceeds the maximum. */
  refuseConnection(): void {
    // Before the end of the handshake, a client cannot read a response.
    if (this.#socket.isInHandshake) this.#socket.reset();
    else this.#refuse(this.#server.refuseConnection());
  }

  #refuse(response: OutgoingResponse): void {
    this.#write(closingResponse(response, this.#server.dateHeader));
  }

  #write(response: string | Uint8Array): void {
    const { onSent, onError } = this.#events;
    const sending = this.#socket.writer.write(response);
    this.#socket.phase.enter("busy");
    if (sending) sending.then(onSent).catch(onError);
    else onSent();
  }
}
