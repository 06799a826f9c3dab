/** Memory of idle connections, each after one request with a large head. */
import { connect, type Socket } from "node:net";
import { rssMegabytes } from "./proc.ts";

const headBytes = 15_000;
const concurrency = 100;

interface IdleMemory {
  readonly connections: number;
  /** Megabytes more than at rest: immediately, and after the connections were idle for some seconds. */
  readonly soon: number;
  readonly later: number;
}

export async function idleMemory(port: number, pid: number, wanted: number): Promise<IdleMemory> {
  const rest = rssMegabytes(pid);
  const sockets: Socket[] = [];
  const request = `GET /healthz HTTP/1.1\r\nhost: x\r\na: ${"a".repeat(headBytes)}\r\n\r\n`;
  const open = (): Promise<number> =>
    new Promise((resolve) => {
      const socket = connect(port, "127.0.0.1");
      sockets.push(socket);
      socket.once("data", () => resolve(1));
      socket.once("error", () => resolve(0));
      socket.write(request);
    });
  let connections = 0;
  for (let at = 0; at < wanted; at += concurrency) {
    const opened = await Promise.all(Array.from({ length: concurrency }, open));
    connections += opened.reduce((sum, one) => sum + one, 0);
  }
  const soon = rssMegabytes(pid) - rest;
  await Bun.sleep(8000);
  const later = rssMegabytes(pid) - rest;
  for (const socket of sockets) socket.destroy();
  return { connections, soon, later };
}
