/**
 * A Redis server for tests, from Debian's package: a process with its own folder and port, which can be stopped, paused
 * and started again.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RedisClient } from "bun";
import { pathOf, testWith } from "../programs.ts";
import { until } from "../until.ts";
import { freePort } from "./postgres-server.ts";

export const testWithRedis = testWith("redis");

export class RedisServer {
  readonly port: number;
  readonly #options: readonly string[];
  readonly #folder = mkdtempSync(join(tmpdir(), "vexel-redis-"));
  #process: Bun.Subprocess | undefined;

  /** `options`: such as `--requirepass`. */
  constructor(port: number, options: readonly string[] = ["--port", String(port)]) {
    this.port = port;
    this.#options = options;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** The folder of the server is empty: nothing is persisted. */
  async start(): Promise<void> {
    // The server ends with the test process, also after kill -9.
    const command = ["setpriv", "--pdeathsig", "SIGKILL", pathOf("redis"), "--dir", this.#folder];
    const options = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", ...this.#options];
    this.#process = Bun.spawn([...command, ...options], {
      stdin: "ignore",
      stdout: "ignore",
      stderr: "ignore",
    });
    await until(() => isListening(this.port));
  }

  /** Ends the server as a crash does. All data are lost. */
  async stop(): Promise<void> {
    this.#process?.kill("SIGKILL");
    await this.#process?.exited;
    this.#process = undefined;
  }

  /** SIGSTOP: the server accepts connections and does not respond. */
  pause(): void {
    this.#process?.kill("SIGSTOP");
  }

  resume(): void {
    this.#process?.kill("SIGCONT");
  }

  async command(name: string, ...args: string[]): Promise<unknown> {
    const client = new RedisClient(this.url, { autoReconnect: false });
    try {
      return await client.send(name, args);
    } finally {
      client.close();
    }
  }
}

export async function isListening(port: number): Promise<boolean> {
  try {
    const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data: () => {} } });
    socket.end();
    return true;
  } catch {
    return false;
  }
}

export async function startRedis(): Promise<RedisServer> {
  const server = new RedisServer(await freePort());
  await server.start();
  return server;
}
