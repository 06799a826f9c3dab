/** Redis Sentinel for tests: a primary, a replica of it, and a sentinel that replaces the primary when it fails. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathOf } from "../programs.ts";
import { until } from "../until.ts";
import { freePort } from "./postgres-server.ts";
import { isListening, RedisServer } from "./redis-server.ts";

interface SentinelServers {
  readonly primary: RedisServer;
  readonly replica: RedisServer;
  /** The first of the two sentinels does not run. */
  readonly url: string;
  /** Replication is asynchronous: a primary that fails may have writes that its replica lacks. */
  isReplicated(): Promise<boolean>;
  stop(): Promise<void>;
}

/** The sentinel writes its state to its configuration file. */
const configOf = (port: number, primaryPort: number): string => `port ${port}
bind 127.0.0.1
sentinel monitor mymaster 127.0.0.1 ${primaryPort} 1
sentinel down-after-milliseconds mymaster 2000
sentinel failover-timeout mymaster 5000
`;

/** Replication starts at once, instead of after five seconds. */
async function startServer(options: readonly string[] = []): Promise<RedisServer> {
  const port = await freePort();
  const server = new RedisServer(port, [
    ...["--port", String(port), "--repl-diskless-sync-delay", "0"],
    ...options,
  ]);
  await server.start();
  return server;
}

/** `folder`: for the configuration of the sentinel. */
export async function startSentinel(folder: string): Promise<SentinelServers> {
  const primary = await startServer();
  const replica = await startServer(["--replicaof", `127.0.0.1 ${primary.port}`]);
  // The sentinel looks for replicas once in ten seconds.
  await until(async () => String(await replica.command("INFO")).includes("master_link_status:up"));
  const [port, absent] = [await freePort(), await freePort()];
  const config = join(folder, "sentinel.conf");
  writeFileSync(config, configOf(port, primary.port));
  // The sentinel ends with the test process, also after kill -9.
  const program = ["setpriv", "--pdeathsig", "SIGKILL", pathOf("redis"), config, "--sentinel"];
  const child = Bun.spawn(program, { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  await until(() => isListening(port));
  const sentinel = new RedisServer(port);
  await until(async () => {
    const known = await sentinel.command("SENTINEL", "replicas", "mymaster");
    return JSON.stringify(known).includes('"master-link-status":"ok"');
  });
  return {
    primary,
    replica,
    url: `redis+sentinel://127.0.0.1:${absent},127.0.0.1:${port}/mymaster/1`,
    isReplicated: async () => {
      const [written, replicated] = await Promise.all([offsetOf(primary), offsetOf(replica)]);
      return written === replicated;
    },
    stop: async () => {
      child.kill("SIGKILL");
      await child.exited;
      await primary.stop();
      await replica.stop();
    },
  };
}

async function offsetOf(server: RedisServer): Promise<string | undefined> {
  const state = String(await server.command("INFO", "replication"));
  return /master_repl_offset:(\d+)/.exec(state)?.[1];
}
