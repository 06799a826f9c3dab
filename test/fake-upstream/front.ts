/**
 * A plain TCP pipe in front of the fake's HTTP server. It lets a handler take a connection over and
 * say what no HTTP library would: half a header, too short a body, a reset.
 */

import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Connection {
  /** From now on only these pieces reach the client; then the connection ends. */
  takeOver(pieces: AsyncIterable<Uint8Array>, end: "reset" | "close"): Promise<void>;
}

export interface Front {
  readonly port: number;
  /** By the port from which the pipe reaches the inner server, which is what the server sees. */
  connection(port: number): Connection | undefined;
  close(): void;
}

// Lets what was written arrive before the reset does.
const settleMs = 15;

const connectionOf = (client: Socket, inner: Socket): Connection => ({
  async takeOver(pieces, end) {
    inner.unpipe(client);
    client.unpipe(inner);
    for await (const piece of pieces) {
      if (client.destroyed) break;
      await new Promise<void>((written) => {
        client.write(piece, () => written());
      });
    }
    await Bun.sleep(settleMs);
    if (end === "reset") client.resetAndDestroy();
    else client.end(() => client.destroy());
    inner.destroy();
  },
});

export function openFront(innerPort: number): Front {
  const open = new Set<Socket>();
  const connections = new Map<number, Connection>();
  const server = createServer((client) => {
    const inner = connect(innerPort, "127.0.0.1");
    for (const socket of [client, inner]) {
      open.add(socket);
      // A broken connection is what many tests are about; `close` follows and cleans up.
      socket.on("error", () => undefined);
      socket.on("close", () => open.delete(socket));
      socket.setNoDelay(true);
    }
    inner.on("connect", () => {
      const port = inner.localPort!;
      connections.set(port, connectionOf(client, inner));
      inner.on("close", () => connections.delete(port));
      client.pipe(inner);
      inner.pipe(client);
    });
    client.on("close", () => inner.destroy());
    inner.on("close", () => client.destroy());
  });
  // Bun binds at once, so the port is known without waiting.
  server.listen(0, "127.0.0.1");
  return {
    port: (server.address() as AddressInfo).port,
    connection: (port) => connections.get(port),
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
