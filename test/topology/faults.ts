/** The faults of the topology, one at a time, and the errors that each explains. */
import { until } from "../until.ts";
import { accepts, createKey, listModels, rateLimit } from "./checks.ts";
import type { Load } from "./load.ts";
import { addedMigration } from "./newer-version.ts";
import type { Replica, Topology } from "./topology.ts";

interface FaultRun {
  readonly topology: Topology;
  readonly load: Load;
  /** Waits under load while the fault lasts. */
  readonly wait: () => Promise<void>;
  /** Waits for the same time, while clients may get no response. */
  readonly outage: () => Promise<void>;
  /** The longest time for which a replica that reaches the database accepts a revoked key. */
  readonly maxRevocationMs: number;
  /** Sends more requests than a limit allows, and counts the admitted requests. */
  readonly checkLimit: () => Promise<void>;
}

export interface Fault {
  readonly name: string;
  /** Errors that clients may get because of it, and why. */
  readonly explains: Readonly<Record<string, string>>;
  /** Redis is not reachable from all replicas, so equal requests at the same time are not joined. */
  readonly isRedisAffected?: boolean;
  /** The most requests that are admitted at once, and the least. */
  readonly admitted?: { readonly least: number; readonly most: number };
  readonly needsSmallDisk?: boolean;
  readonly needsNamespace?: boolean;
  /** Returns what else was found, in words. */
  readonly run: (run: FaultRun) => Promise<string | undefined>;
}

/** Never more. Fewer if a part that one replica has leased is left over, and its requests go to the others. */
const exactly = { least: rateLimit * 0.9, most: rateLimit };

const timesLogged = (replica: Replica, event: string): number =>
  replica.output().split(`"${event}"`).length - 1;
/** Resolves when the replica has logged it more often than before. */
const logged = (replica: Replica, event: string, before: number): Promise<void> =>
  until(() => timesLogged(replica, event) > before);

/** Of image requests with an idempotency key. */
const refusedKeys = {
  "503 storage_unavailable":
    "the replica could not reach Redis or the object store, so it did not know whether the key is in use",
};

export const faults: readonly Fault[] = [
  {
    name: "a replica is killed and started again",
    explains: {
      "502": "nginx had sent the request to the killed replica",
      connection: "nginx was passing on a response of the killed replica",
      "503 storage_unavailable":
        "the killed replica was generating the image, and it is unknown whether it was billed",
    },
    admitted: exactly,
    run: async ({ topology, wait, checkLimit }) => {
      const [victim] = topology.replicas;
      await victim.stop("SIGKILL");
      await wait();
      await checkLimit();
      await victim.start();
      return undefined;
    },
  },
  {
    name: "PostgreSQL crashes and returns",
    explains: {
      // Its claim lasts ten seconds longer than the replica.
      "503 storage_unavailable": "the replica that was killed before was generating the image",
    },
    admitted: exactly,
    run: async ({ topology, wait, checkLimit }) => {
      const { postgres, replicas } = topology;
      const before = replicas.map((replica) => timesLogged(replica, "database-unavailable"));
      await postgres.stop();
      await wait();
      await checkLimit();
      for (const [at, replica] of replicas.entries())
        await logged(replica, "database-unavailable", before[at] ?? 0);
      await postgres.start();
      return undefined;
    },
  },
  {
    name: "Redis crashes, returns empty, and loses its data once more",
    explains: refusedKeys,
    isRedisAffected: true,
    admitted: { least: 1, most: rateLimit },
    run: async ({ topology, wait, checkLimit }) => {
      const { redis, replicas } = topology;
      await redis.stop();
      for (const replica of replicas)
        await until(async () => (await replica.health()).redis === "unavailable");
      await wait();
      await checkLimit();
      await redis.start();
      await topology.ready();
      await redis.command("FLUSHALL");
      return undefined;
    },
  },
  {
    name: "the disk of a replica is full",
    explains: {
      "503 ledger_unavailable": "the replica cannot write ledger rows, so it refuses requests",
      "503 storage_unavailable":
        "the replica could not store the image for an equal request that waited for it",
    },
    admitted: { least: 1, most: rateLimit },
    needsSmallDisk: true,
    run: async ({ topology, wait, checkLimit }) => {
      const [first, , small] = topology.replicas;
      const { id, key } = await createKey(topology);
      // The ledger frees the space of rows that it has forwarded, and must not get it back.
      const filling = setInterval(() => small.fillDisk(), 2);
      try {
        await wait();
        await checkLimit();
        expectOk(await topology.admin("DELETE", `/keys/${id}`, undefined, first.url));
        await until(async () => !(await accepts(small, key)));
      } finally {
        clearInterval(filling);
      }
      small.freeDisk();
      return undefined;
    },
  },
  {
    name: "a replica is cut off from PostgreSQL, Redis and the object store",
    explains: refusedKeys,
    isRedisAffected: true,
    // The replica applies its share of the limit, of which the others know nothing.
    admitted: { least: exactly.least, most: rateLimit + Math.ceil(rateLimit / 3) },
    needsNamespace: true,
    run: async (run) => {
      const [, isolated] = run.topology.replicas;
      const { network } = isolated;
      return runCutOff(run, async (revoke) => {
        network?.cutOff("storage");
        await until(async () => (await isolated.health()).redis === "unavailable");
        await run.wait();
        await run.checkLimit();
        await revoke();
        network?.restore("storage");
        return performance.now();
      });
    },
  },
  {
    name: "a replica is cut off from its storage, clients and upstreams",
    explains: {
      ...refusedKeys,
      "504": "nginx could not connect to the replica",
    },
    isRedisAffected: true,
    admitted: { least: exactly.least, most: rateLimit + Math.ceil(rateLimit / 3) },
    needsNamespace: true,
    run: async (run) => {
      const [, isolated] = run.topology.replicas;
      const { network } = isolated;
      const before = timesLogged(isolated, "redis-unavailable");
      return runCutOff(run, async (revoke) => {
        network?.cutOff("storage");
        network?.cutOff("clients");
        // Requests on open connections to the replica wait until it returns.
        const limited = run.checkLimit();
        await revoke();
        await logged(isolated, "redis-unavailable", before);
        await run.outage();
        network?.restore("storage");
        network?.restore("clients");
        const restoredAt = performance.now();
        await limited;
        return restoredAt;
      });
    },
  },
  {
    name: "all replicas are rolled to a newer version, and one of them back",
    explains: {
      "502": "nginx sent the request on a connection that the replica was closing",
    },
    admitted: exactly,
    run: async ({ topology, load, checkLimit }) => {
      const { replicas } = topology;
      const newer = topology.newerVersion();
      const earlier = await replicas[0].version();
      const restart = async (replica: Replica, version: string, program?: string) => {
        await replica.stop("SIGTERM");
        await replica.start(program);
        if ((await replica.version()) !== version) throw new Error(`${version} does not run`);
        await load.progress(20);
      };
      /** While both versions run, each replica accepts a key that any other has created. */
      const exchangeKeys = async (): Promise<void> => {
        for (const { url } of replicas) {
          const { id } = await createKey(topology, {}, url);
          expectOk(await topology.admin("DELETE", `/keys/${id}`, undefined, url));
        }
      };
      const [first, second, third] = replicas;
      await restart(first, newer.version, newer.folder);
      await exchangeKeys();
      await restart(second, newer.version, newer.folder);
      await restart(third, newer.version, newer.folder);
      await checkLimit();
      await restart(first, earlier);
      await exchangeKeys();
      const [added] = await topology.query<{ name: string }>(
        "SELECT name FROM vexel.schema_migrations ORDER BY number DESC LIMIT 1",
      );
      if (added?.name !== addedMigration) throw new Error("the newer version has migrated nothing");
      return undefined;
    },
  },
  {
    name: "keys and models are changed",
    explains: {},
    admitted: exactly,
    run: async ({ topology, load, checkLimit }) => {
      const { admin, replicas } = topology;
      const model = { id: "changing", kind: "embedding" };
      const target = (name: string) => ({ ...model, targets: [{ upstream: "fake", model: name }] });
      const small = target("text-embedding-3-small");
      expectOk(await admin("POST", "/models", small));
      const lists = async ({ url }: Replica, isListed: boolean): Promise<boolean> => {
        const { data } = await listModels(url);
        return data.some(({ id }) => id === model.id) === isListed;
      };
      for (const replica of replicas) await until(() => lists(replica, true));
      expectOk(await admin("PUT", `/models/${model.id}`, target("text-embedding-3-large")));
      await load.progress(20);
      expectOk(await admin("DELETE", `/models/${model.id}`));
      for (const replica of replicas) await until(() => lists(replica, false));
      await checkLimit();
      return undefined;
    },
  },
];

/** False: the user of the process lacks rights for it. */
export const isPossibleIn = (topology: Topology, fault: Fault): boolean =>
  (topology.hasSmallDisk || !fault.needsSmallDisk) &&
  (topology.hasNamespace || !fault.needsNamespace);

/** The longest time after which a replica that was cut off refuses a key that was revoked meanwhile. */
const maxReturnMs = 15_000;

/** A key is revoked while the second replica is cut off. The others refuse it at once, and that one soon after. */
async function runCutOff(
  { topology, maxRevocationMs }: FaultRun,
  /** Returns when the links were restored. */
  cutOff: (revoke: () => Promise<void>) => Promise<number>,
): Promise<string> {
  const [first, isolated, third] = topology.replicas;
  const { id, key } = await createKey(topology);
  const refusedAfter = async (from: number, ...replicas: readonly Replica[]) => {
    for (const replica of replicas) await until(async () => !(await accepts(replica, key)));
    return Math.round(performance.now() - from);
  };
  let revokedMs = 0;
  const restoredAt = await cutOff(async () => {
    expectOk(await topology.admin("DELETE", `/keys/${id}`, undefined, first.url));
    revokedMs = await refusedAfter(performance.now(), first, third);
  });
  const returnedMs = await refusedAfter(restoredAt, isolated);
  if (revokedMs > maxRevocationMs || returnedMs > maxReturnMs)
    throw new Error(`a revoked key was accepted for ${revokedMs} ms, or ${returnedMs} ms later`);
  return `a key that was revoked meanwhile: refused by the other replicas after ${revokedMs} ms, and by this one ${returnedMs} ms after its return`;
}

function expectOk(response: Response): void {
  if (!response.ok) throw new Error(`the admin API responded with ${response.status}`);
}
