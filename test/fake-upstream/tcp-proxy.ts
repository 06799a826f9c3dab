/**
 * TCP proxy in front of the fake upstream's HTTP server, or of another server. A handler can take over a connection and
 * send bytes that no HTTP library would: half a header, too short a body, a reset.
 */

import { existsSync, readFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Connection {
  /** From now on only these chunks are sent to the client; then the connection ends. */
  takeOver(chunks: AsyncIterable<Uint8Array>, end: "reset" | "close"): Promise<void>;
}

interface TcpProxy {
  readonly port: number;
  /** By the port from which the proxy connects to the inner server: the client port that the server sees. */
  connection(port: number): Connection | undefined;
  /** Closes all connections; new ones lead to another server, as after a failover. */
  switchTo(port: number): void;
  close(): void;
}

/** One line of /proc/net/tcp: local port, remote port, and the bytes that its process has not read. */
const socketLine = /:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]{2} [0-9A-F]{8}:([0-9A-F]{8})/g;

/**
 * The bytes in the receive queue of the other end of a loopback connection. Undefined where the system does not say.
 */
function unreadByPeer({ localPort, remotePort }: Socket): number | undefined {
  if (!existsSync("/proc/net/tcp")) return undefined;
  const lines = readFileSync("/proc/net/tcp", "utf8").matchAll(socketLine);
  for (const [, local, remote, unread] of lines)
    if (Number.parseInt(local!, 16) === remotePort && Number.parseInt(remote!, 16) === localPort)
      return Number.parseInt(unread!, 16);
  return 0; // The other end is closed.
}

/** A reset discards what the other end has not read yet, so the reset has to wait until it has read everything. */
async function readByPeer(client: Socket): Promise<void> {
  for (let waitedMs = 0; waitedMs < 5000; waitedMs++) {
    const unread = unreadByPeer(client);
    if (unread === 0) return;
    await Bun.sleep(unread === undefined ? 15 : 1);
    if (unread === undefined) return;
  }
}

const connectionOf = (client: Socket, inner: Socket): Connection => ({
  async takeOver(chunks, end) {
    inner.unpipe(client);
    client.unpipe(inner);
    for await (const chunk of chunks) {
      if (client.destroyed) break;
      await new Promise<void>((written) => {
        client.write(chunk, () => written());
      });
    }
    if (client.destroyed) return;
    await readByPeer(client);
    if (end === "reset") client.resetAndDestroy();
    else client.end(() => client.destroy());
    inner.destroy();
  },
});

export function openTcpProxy(innerPort: number): TcpProxy {
  const open = new Set<Socket>();
  const destroyAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  let target = innerPort;
  const connections = new Map<number, Connection>();
  const server = createServer((client) => {
    const inner = connect(target, "127.0.0.1");
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
    switchTo: (port) => {
      target = port;
      destroyAll();
    },
    close: () => {
      server.close();
      destroyAll();
    },
  };
}
