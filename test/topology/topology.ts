/**
 * The test topology: PostgreSQL, Redis, nginx and three replicas, as real processes, and a fake upstream and object
 * store. One replica has a network namespace of its own, so that it can be cut off; the rest is on loopback.
 */
import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startFakeS3 } from "../fake-s3.ts";
import { type Fake, startFake } from "../fake-upstream.ts";
import { configFor, type GatewayProcess, startProcess, temporaryFolder } from "../harness.ts";
import {
  databaseName,
  freePort,
  type PostgresServer,
  sharedPostgres,
} from "../storage/postgres-server.ts";
import { type RedisServer, startRedis } from "../storage/redis-server.ts";
import { mayMount, mountTmpfs } from "../storage/small-disk.ts";
import { until } from "../until.ts";
import {
  createNetworkNamespace,
  type LinkName,
  mayCreateNamespaces,
  type NetworkNamespace,
} from "./network-namespace.ts";
import { buildNewerVersion, type GatewayVersion } from "./newer-version.ts";
import { type LoadBalancer, startLoadBalancer } from "./nginx.ts";

export const adminToken = "admin-token-of-the-topology";
/** How long the fake upstream takes for an image, so that faults meet images in flight. */
const imageDelayMs = 250;
const diskBytes = 96 * 1024 * 1024;

export class Replica {
  readonly url: string;
  /** Undefined if it cannot be cut off. */
  readonly network: NetworkNamespace | undefined;
  readonly #folder: string;
  readonly #start: (program?: string) => Promise<GatewayProcess>;
  #process: GatewayProcess | undefined;
  #earlierOutput = "";

  constructor(
    url: string,
    folder: string,
    network: NetworkNamespace | undefined,
    start: (program?: string) => Promise<GatewayProcess>,
  ) {
    this.url = url;
    this.#folder = folder;
    this.network = network;
    this.#start = start;
  }

  /** `program`: the folder of another version. */
  async start(program?: string): Promise<void> {
    this.#process = await this.#start(program);
  }

  /** Standard output and standard error, of all processes so far. */
  output(): string {
    return this.#earlierOutput + (this.#process?.output() ?? "");
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    this.#process?.kill(signal);
    await this.#process?.exited;
    this.#earlierOutput = this.output();
    this.#process = undefined;
  }

  /** Fills the disk of the data folder, which has to be a tmpfs. */
  fillDisk(): void {
    const data = join(this.#folder, "data");
    const { bavail, bsize } = statfsSync(data);
    if (bavail === 0) return;
    const filler = join(data, `filler-${this.#fillers.length}`);
    this.#fillers.push(filler);
    try {
      writeFileSync(filler, Buffer.alloc(bavail * bsize));
    } catch {
      // The gateway has taken some of the space meanwhile; the file has the rest.
    }
  }

  freeDisk(): void {
    for (const file of this.#fillers.splice(0)) rmSync(file);
  }

  readonly #fillers: string[] = [];

  async health(): Promise<Readonly<Record<string, unknown>>> {
    return (await (await fetch(`${this.url}/readyz`)).json()) as Record<string, unknown>;
  }

  async version(): Promise<string> {
    const response = await fetch(`${this.url}/openapi.json`);
    return ((await response.json()) as { info: { version: string } }).info.version;
  }
}

export interface Topology {
  readonly url: string;
  readonly fake: Fake;
  readonly postgres: PostgresServer;
  readonly redis: RedisServer;
  readonly replicas: readonly [Replica, Replica, Replica];
  /** False: the last replica's disk cannot be filled. */
  readonly hasSmallDisk: boolean;
  /** False: the second replica cannot be cut off. */
  readonly hasNamespace: boolean;
  /** Builds it once. */
  newerVersion(): GatewayVersion;
  query<Row>(statement: string): Promise<Row[]>;
  /** Resolves when all replicas use Redis and know each other. */
  ready(): Promise<void>;
  /** Through the load balancer, or at the URL of a replica. */
  admin(method: string, path: string, body?: unknown, url?: string): Promise<Response>;
  close(): Promise<void>;
}

export async function startTopology(): Promise<Topology> {
  const folder = temporaryFolder();
  const fake = startFake();
  const s3 = startFakeS3();
  const isImage = ({ path }: { readonly path: string }): boolean => path.startsWith("/v1/images/");
  fake.script({ delayMs: imageDelayMs }, { times: Number.POSITIVE_INFINITY, when: isImage });
  const [postgres, redis] = await Promise.all([sharedPostgres(), startRedis()]);
  const database = databaseName(await postgres.createDatabase());
  const hasSmallDisk = mayMount();
  const hasNamespace = mayCreateNamespaces();
  let unmount = (): void => undefined;

  const addReplica = async (name: string): Promise<Replica> => {
    const own = join(folder.path, name);
    mkdirSync(join(own, "data"), { recursive: true });
    if (name === "c" && hasSmallDisk) unmount = mountTmpfs(join(own, "data"), String(diskBytes));
    const network = name === "b" && hasNamespace ? await createNetworkNamespace() : undefined;
    const host = network?.address("clients") ?? "127.0.0.1";
    const port = await freePort();
    const reach = (serverPort: number, link: LinkName): Promise<string> =>
      network?.expose(serverPort, link) ?? Promise.resolve(`127.0.0.1:${serverPort}`);
    const databaseAddress = await reach(postgres.port, "storage");
    const redisAddress = await reach(redis.port, "storage");
    const blobUrl = new URL(s3.url("topology"));
    const endpoint = new URL(blobUrl.searchParams.get("endpoint") ?? "");
    endpoint.host = await reach(Number(endpoint.port), "storage");
    blobUrl.searchParams.set("endpoint", endpoint.origin);
    const fakeUrl = new URL(fake.url);
    fakeUrl.host = await reach(Number(fakeUrl.port), "clients");
    const start = (program?: string): Promise<GatewayProcess> =>
      startProcess({
        folder: own,
        yaml: configFor(fakeUrl.href),
        ...(network && { wrapper: network.wrapper }),
        ...(program !== undefined && { program }),
        env: {
          HOST: host,
          PORT: String(port),
          DATABASE_URL: `postgres://vexel@${databaseAddress}/${database}`,
          REDIS_URL: `redis://${redisAddress}`,
          BLOB_URL: blobUrl.href,
          VEXEL_SECRET: "a-secret-of-all-replicas",
          VEXEL_ADMIN_TOKEN: adminToken,
          VEXEL_CACHE_BYTES: String(32 * 1024 * 1024),
        },
      });
    return new Replica(`http://${host}:${port}`, own, network, start);
  };
  const replicas = [await addReplica("a"), await addReplica("b"), await addReplica("c")] as const;
  await Promise.all(replicas.map((replica) => replica.start()));
  const balancer: LoadBalancer = await startLoadBalancer(
    folder.path,
    replicas.map(({ url }) => new URL(url).host),
  );
  let newer: GatewayVersion | undefined;
  const topology: Topology = {
    url: balancer.url,
    fake,
    postgres,
    redis,
    replicas,
    hasSmallDisk,
    hasNamespace,
    newerVersion: () => {
      newer ??= buildNewerVersion(join(folder.path, "newer"));
      return newer;
    },
    query: (statement) => postgres.execute(database, statement),
    ready: async () => {
      const isReady = async (replica: Replica): Promise<boolean> => {
        const health = await replica.health();
        return (
          health.status === "ready" && health.redis === "available" && Number(health.replicas) >= 3
        );
      };
      for (const replica of replicas) await until(() => isReady(replica));
    },
    admin: (method, path, body, url = balancer.url) =>
      fetch(`${url}/admin/api${path}`, {
        method,
        headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
    close: async () => {
      await balancer.stop();
      await Promise.all(replicas.map((replica) => replica.stop("SIGKILL")));
      for (const { network } of replicas) network?.close();
      await redis.stop();
      // Other tests of the process use PostgreSQL.
      if (postgres.pid === undefined) await postgres.start();
      fake.close();
      await s3.stop();
      unmount();
      folder[Symbol.dispose]();
    },
  };
  await topology.ready();
  return topology;
}
