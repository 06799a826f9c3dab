/**
 * A TCP proxy between one replica and one server. While it is cut off, bytes are not forwarded in either direction and
 * connections stay open, as behind a firewall that drops packets; the replica notices by its timeouts only.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface CutOffProxy {
  readonly port: number;
  cutOff(): void;
  /** Forwards again, also on connections that were open. */
  restore(): void;
  close(): void;
}

export function openCutOffProxy(serverPort: number): CutOffProxy {
  const open = new Set<Socket>();
  let isCutOff = false;
  const server = createServer((client) => {
    const inner = connect(serverPort, "127.0.0.1");
    for (const [socket, other] of [
      [client, inner],
      [inner, client],
    ] as const) {
      open.add(socket);
      socket.setNoDelay(true);
      if (isCutOff) socket.pause();
      socket.on("data", (bytes) => void other.write(bytes));
      if (isCutOff) socket.pause();
      // A server that stops resets its connections, and so does the proxy.
      socket.on("error", () => undefined);
      socket.on("close", () => {
        open.delete(socket);
        other.destroy();
      });
    }
  });
  // Bun binds at once, so the port is known without waiting.
  server.listen(0, "127.0.0.1");
  return {
    port: (server.address() as AddressInfo).port,
    cutOff: () => {
      isCutOff = true;
      for (const socket of open) socket.pause();
    },
    restore: () => {
      isCutOff = false;
      for (const socket of open) socket.resume();
    },
    close: () => {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
