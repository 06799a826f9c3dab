/** The gateways of a program: one process with SQLite or PostgreSQL, or three replicas with PostgreSQL and Redis. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type FakeS3, startFakeS3 } from "../fake-s3.ts";
import { type GatewayProcess, startProcess } from "../harness.ts";
import { freePort, PostgresServer, sharedPostgres } from "../storage/postgres-server.ts";
import { type RedisServer, startRedis } from "../storage/redis-server.ts";
import { startSentinel } from "../storage/sentinel-server.ts";
import { until } from "../until.ts";

export type TopologyName = "sqlite" | "postgres" | "replicas" | "sentinel";

export const adminToken = "admin-token-of-the-law-of-money";

interface GatewaysOptions {
  readonly topology: TopologyName;
  readonly folder: string;
  readonly yaml: string;
  /** The database is stopped or paused, so it is not shared with other programs. */
  readonly hasOwnDatabase: boolean;
  /** Milliseconds that the clock of each replica is ahead. */
  readonly clocksMs: readonly number[];
  /** A key may have few requests in flight. */
  readonly hasFewConnections: boolean;
  /** The folder of another checkout. */
  readonly checkout?: string | undefined;
}

/** Runs before the gateway. */
const clockScript = (aheadMs: number): string => `
const real = Date;
const now = real.now;
const ahead = ${aheadMs};
globalThis.Date = new Proxy(real, {
  construct: (target, args, called) =>
    Reflect.construct(target, args.length === 0 ? [now() + ahead] : args, called),
  apply: () => new real(now() + ahead).toString(),
});
real.now = () => now() + ahead;
`;

/** Moves the clock of one PostgreSQL database, whose time the rows have: the schema comes before `pg_catalog`. */
async function moveClock(postgres: PostgresServer, url: string, aheadMs: number): Promise<void> {
  const database = new URL(url).pathname.slice(1);
  await postgres.execute(
    database,
    `CREATE SCHEMA moved;
     CREATE FUNCTION moved.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql
       AS $$ SELECT pg_catalog.clock_timestamp() + interval '${aheadMs} milliseconds' $$;
     ALTER DATABASE ${database} SET search_path = moved, pg_catalog, public`,
  );
}

async function databaseOf(isOwn: boolean, closing: (() => unknown)[]): Promise<PostgresServer> {
  if (!isOwn) return sharedPostgres();
  const server = new PostgresServer(await freePort());
  await server.start();
  closing.push(() => server.stop());
  return server;
}

export class Gateways {
  readonly topology: TopologyName;
  readonly urls: readonly string[];
  readonly s3: FakeS3 | undefined;
  readonly postgres: PostgresServer | undefined;
  /** The server that replicas use until it fails over. */
  readonly redis: RedisServer | undefined;
  readonly #starts: readonly (() => Promise<GatewayProcess>)[];
  readonly #folders: readonly string[];
  readonly #processes: (GatewayProcess | undefined)[] = [];
  readonly #outputs: string[] = [];
  readonly #closing: readonly (() => unknown)[];

  private constructor(
    topology: TopologyName,
    urls: readonly string[],
    starts: readonly (() => Promise<GatewayProcess>)[],
    servers: {
      readonly s3?: FakeS3 | undefined;
      readonly postgres?: PostgresServer | undefined;
      readonly redis?: RedisServer | undefined;
      readonly closing: readonly (() => unknown)[];
      readonly folders: readonly string[];
    },
  ) {
    this.topology = topology;
    this.urls = urls;
    this.#starts = starts;
    this.s3 = servers.s3;
    this.postgres = servers.postgres;
    this.redis = servers.redis;
    this.#closing = servers.closing;
    this.#folders = servers.folders;
  }

  static async start(options: GatewaysOptions): Promise<Gateways> {
    const { topology, folder, yaml, clocksMs, checkout } = options;
    const { hasOwnDatabase, hasFewConnections } = options;
    const isShared = topology === "replicas" || topology === "sentinel";
    const closing: (() => unknown)[] = [];
    const postgres = topology === "sqlite" ? undefined : await databaseOf(hasOwnDatabase, closing);
    const databaseUrl = await postgres?.createDatabase();
    if (postgres && databaseUrl !== undefined)
      await moveClock(postgres, databaseUrl, clocksMs[0] ?? 0);
    const sentinel = topology === "sentinel" ? await startSentinel(folder) : undefined;
    const redis = topology === "replicas" ? await startRedis() : sentinel?.primary;
    if (sentinel) closing.push(() => sentinel.stop());
    else if (redis) closing.push(() => redis.stop());
    const s3 = isShared ? startFakeS3({ now: () => Date.now() + (clocksMs[0] ?? 0) }) : undefined;
    if (s3) closing.push(() => s3.stop());
    const redisUrl = sentinel?.url ?? redis?.url;
    const count = isShared ? 3 : 1;
    const ports = await Promise.all(Array.from({ length: count }, freePort));
    const starts = ports.map((port, at) => {
      const own = join(folder, String(at));
      mkdirSync(own);
      writeFileSync(join(own, "vexel.yaml"), yaml);
      const preload = join(own, "clock.ts");
      writeFileSync(preload, clockScript(clocksMs[at] ?? 0));
      return () =>
        startProcess({
          folder: own,
          preload,
          // The gateways end with the test process, also after kill -9.
          wrapper: ["setpriv", "--pdeathsig", "SIGKILL"],
          ...(checkout !== undefined && { program: checkout }),
          env: {
            PORT: String(port),
            VEXEL_SECRET: "a-secret-of-all-replicas",
            VEXEL_ADMIN_TOKEN: adminToken,
            VEXEL_END_USERS: "plain",
            VEXEL_CACHE_BYTES: String(8 * 1024 * 1024),
            VEXEL_EMBEDDINGS_TIMEOUT: "5",
            VEXEL_IMAGES_TIMEOUT: "6",
            ...(hasFewConnections && { VEXEL_MAX_CONNECTIONS: "40" }),
            ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
            ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
            ...(s3 && { BLOB_URL: s3.url("money") }),
          },
        });
    });
    const folders = ports.map((_, at) => join(folder, String(at)));
    const urls = ports.map((port) => `http://127.0.0.1:${port}`);
    const gateways = new Gateways(topology, urls, starts, {
      s3,
      postgres,
      redis,
      closing,
      folders,
    });
    await Promise.all(starts.map((_, at) => gateways.startOne(at)));
    await gateways.ready();
    return gateways;
  }

  get count(): number {
    return this.urls.length;
  }

  urlOf(replica: number): string {
    return this.urls[replica % this.urls.length] as string;
  }

  async startOne(at: number): Promise<void> {
    this.#processes[at] = await this.#starts[at]!();
  }

  /** kill -9. */
  async kill(at: number): Promise<void> {
    const process = this.#processes[at];
    process?.kill("SIGKILL");
    await process?.exited;
    this.#outputs.push(process?.output() ?? "");
    this.#processes[at] = undefined;
  }

  /** Replaces the configuration file of every replica. */
  configure(yaml: string): void {
    for (const folder of this.#folders) writeFileSync(join(folder, "vexel.yaml"), yaml);
  }

  /** Every replica is ready, and uses Redis and knows the others. */
  async isReady(): Promise<boolean> {
    const all = await Promise.all(this.urls.map((url) => this.#isReady(url)));
    return all.every((isReady) => isReady);
  }

  async ready(): Promise<void> {
    await until(() => this.isReady());
  }

  /** Resolves when every replica has noticed that Redis is away. */
  async haveLostRedis(): Promise<void> {
    await until(() =>
      this.#processes.every((each) => each?.output().includes("redis-unavailable") ?? true),
    );
  }

  async #isReady(url: string): Promise<boolean> {
    const response = await fetch(`${url}/readyz`).catch(() => undefined);
    const health = ((await response?.json().catch(() => undefined)) ?? {}) as {
      readonly status?: string;
      readonly redis?: string;
      readonly replicas?: number;
    };
    if (health.status !== "ready") return false;
    const isShared = this.redis !== undefined;
    return !isShared || (health.redis === "available" && (health.replicas ?? 0) >= this.count);
  }

  async admin<T>(replica: number, path: string): Promise<T> {
    const response = await fetch(`${this.urlOf(replica)}/admin/api${path}`, {
      headers: { authorization: `Bearer ${adminToken}` },
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  }

  output(): string {
    return [...this.#outputs, ...this.#processes.map((process) => process?.output() ?? "")].join(
      "",
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process?.close()));
    for (const close of this.#closing) await close();
  }
}
