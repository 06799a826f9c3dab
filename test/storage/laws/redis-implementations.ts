/** The Redis implementation of each storage port. The location of a storage is the URL of a database of its own. */
import { randomUUID } from "node:crypto";
import { RedisConnection } from "../../../server/storage/redis/client.ts";
import { RequestClaims } from "../../../server/storage/redis/request-claims.ts";
import { SharedEmbeddings } from "../../../server/storage/redis/shared-embeddings.ts";
import { SharedLimits } from "../../../server/storage/redis/shared-limits.ts";
import { freePort } from "../postgres-server.ts";
import { RedisServer } from "../redis-server.ts";
import type { Implementation } from "./backend.ts";
import { type ClaimsReplica, claimLeaseMs } from "./request-claims.laws.ts";
import type { EmbeddingsReplica } from "./shared-embeddings.laws.ts";
import type { LimitsReplica } from "./shared-limits.laws.ts";

/** One server for all laws of the test process. It ends with the process. */
let started: Promise<RedisServer> | undefined;
const databases = 256;
let used = 0;

async function startServer(): Promise<RedisServer> {
  const port = await freePort();
  const server = new RedisServer(port, ["--port", String(port), "--databases", String(databases)]);
  await server.start();
  return server;
}

const inRedis = <Store>(
  open: (redis: RedisConnection, now: () => number) => Store,
): Implementation<Store> => ({
  name: "Redis",
  createStorage: async () => {
    started ??= startServer();
    const { url } = await started;
    return { location: `${url}/${used++ % databases}`, dispose: async () => undefined };
  },
  open: async (url, now) => {
    const redis = new RedisConnection({ url, timeoutMs: 20_000 });
    await redis.attempted();
    return open(redis, now);
  },
});

export const redisRequestClaims = inRedis<ClaimsReplica>((redis) => ({
  claims: new RequestClaims(redis, { retentionMs: 60_000, leaseMs: claimLeaseMs }),
  close: async () => redis.close(),
}));

/** Never misses because of a busy machine. */
export const redisEmbeddings = inRedis<EmbeddingsReplica>((redis, now) => ({
  cache: new SharedEmbeddings(redis, { secret: "s", ttlMs: 60_000, now, timeoutMs: 20_000 }),
  close: async () => redis.close(),
}));

export const redisSharedLimits = inRedis<LimitsReplica>((redis, now) => {
  const reopen = (name: string, epoch: number) => new SharedLimits(redis, { name, epoch }, now);
  return {
    limits: reopen(randomUUID(), 1),
    reopen,
    flush: async () => void (await redis.run((client) => client.send("FLUSHDB", []))),
    close: async () => redis.close(),
  };
});
