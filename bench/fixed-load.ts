/** Sends a fixed number of requests: a round can be short, because no load generator starts for it. */
import { requestBytes } from "./load.ts";
import type { Scenario } from "./scenarios.ts";

interface Connection {
  unsent: Uint8Array | undefined;
  head: string;
  /** Bytes of the body that have not arrived. Undefined while the head is read. */
  left: number | undefined;
}

const headEnd = "\r\n\r\n";

/** Resolves when all responses have arrived. Rejects if one is not 200. */
export async function sendRequests(url: string, scenario: Scenario, count: number): Promise<void> {
  const { hostname, port } = new URL(url);
  const { promise: failed, reject } = Promise.withResolvers<never>();
  let unsent = count;
  const connect = (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const write = (socket: Bun.Socket<Connection>): void => {
      const { unsent: bytes } = socket.data;
      if (!bytes) return;
      const rest = bytes.subarray(Math.max(0, socket.write(bytes)));
      socket.data.unsent = rest.length > 0 ? rest : undefined;
    };
    const next = (socket: Bun.Socket<Connection>): void => {
      if (unsent === 0) {
        // Closed connections would keep their ports for a minute: a run opens tens of thousands.
        socket.terminate();
        resolve();
        return;
      }
      unsent--;
      socket.data = { unsent: requestBytes(url, scenario), head: "", left: undefined };
      write(socket);
    };
    const receive = (socket: Bun.Socket<Connection>, bytes: Buffer): void => {
      const { data } = socket;
      if (data.left === undefined) {
        data.head += bytes.toString("latin1");
        const end = data.head.indexOf(headEnd);
        if (end < 0) return;
        const length = /^content-length: (\d+)/im.exec(data.head)?.[1];
        if (!data.head.startsWith("HTTP/1.1 200 ") || !length)
          reject(new Error(`${url}: ${data.head.slice(0, 500)}`));
        data.left = Number(length) - (data.head.length - end - headEnd.length);
      } else data.left -= bytes.length;
      if (data.left <= 0) next(socket);
    };
    Bun.connect<Connection>({
      hostname,
      port: Number(port),
      data: { unsent: undefined, head: "", left: undefined },
      socket: { open: next, drain: write, data: receive, error: (_, error) => reject(error) },
    }).catch(reject);
    return promise;
  };
  const connections = Array.from({ length: Math.min(scenario.connections, count) }, connect);
  await Promise.race([Promise.all(connections), failed]);
}
