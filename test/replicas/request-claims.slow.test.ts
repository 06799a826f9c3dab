/** Idempotent image requests on several replicas at the same time: one is sent and paid for. */
import { afterAll, expect } from "bun:test";
import { type Claim, IdempotencyStore } from "../../server/idempotency/idempotency-store.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { ResponseFiles } from "../../server/storage/files/response-files.ts";
import { RedisConnection } from "../../server/storage/redis/client.ts";
import { RequestClaims } from "../../server/storage/redis/request-claims.ts";
import { temporaryFolder } from "../harness.ts";
import { beforeAllWith } from "../programs.ts";
import { type RedisServer, startRedis, testWithRedis } from "../storage/redis-server.ts";
import { unlimitedDisk } from "../unlimited-disk.ts";
import { until } from "../until.ts";

let server: RedisServer;
const folder = temporaryFolder();
const connections: RedisConnection[] = [];
beforeAllWith(["redis"], async () => {
  server = await startRedis();
});
afterAll(async () => {
  for (const connection of connections) connection.close();
  await server?.stop();
  folder[Symbol.dispose]();
});

/** A replica whose responses are in a storage that all replicas share. */
async function replica(leaseMs?: number, disk = unlimitedDisk) {
  const redis = new RedisConnection({ url: server.url });
  connections.push(redis);
  await redis.attempted();
  const responses = new ResponseFiles({
    folder: folder.path,
    ttlMs: 60_000,
    maxBytes: 1e9,
    disk,
    now: Date.now,
  });
  const claims = new RequestClaims(redis, {
    retentionMs: 60_000,
    ...(leaseMs !== undefined && { leaseMs }),
  });
  let outcomes: string[] = [];
  const store = new IdempotencyStore(responses, () => undefined, {
    claim: async (claim) => {
      const outcome = await claims.claim(claim);
      outcomes = [...outcomes, outcome.kind];
      return outcome;
    },
  });
  const claim = (idempotencyKey: string, prompt = "an otter"): Promise<Claim> =>
    store.claim({
      owner: "key_1",
      requestId: crypto.randomUUID(),
      idempotencyKey,
      fingerprint: async () => prompt,
      signal: new AbortController().signal,
    });
  return { redis, claim, isWaiting: () => outcomes.at(-1) === "held" };
}

const requestOf = (claim: Claim) => {
  if (claim.kind !== "proceed") throw new Error(`the request may not proceed: ${claim.kind}`);
  return claim.request;
};

testWithRedis(
  "of two equal requests on two replicas at the same time, one proceeds, and the other gets its bytes",
  async () => {
    const [a, b] = [await replica(), await replica()];
    const claiming = [a.claim("same"), b.claim("same")];
    const first = await Promise.race(
      claiming.map((claim, at) => claim.then((won) => ({ won, at }))),
    );
    await expect((first.at === 0 ? b : a).claim("same", "a cat")).rejects.toThrow(
      "used before with a different request",
    );
    requestOf(first.won).append("the images");
    await requestOf(first.won).store({});
    const second = await claiming[1 - first.at];
    if (second?.kind !== "replay") throw new Error("the other request was not replayed");
    expect(Buffer.concat(await Array.fromAsync(second.response.open())).toString()).toBe(
      "the images",
    );
  },
);

testWithRedis(
  "a request that fails before it is billed leaves its key to the other replica; one that may be billed passes on its error",
  async () => {
    const [a, b] = [await replica(), await replica()];
    const first = requestOf(await a.claim("fails"));
    const second = b.claim("fails");
    await first.release();
    const third = requestOf(await second);
    const fourth = a.claim("fails");
    await until(a.isWaiting);
    await third.release(new GatewayError("upstream_timeout", "It took too long."));
    expect(await fourth).toMatchObject({ kind: "failed", error: { message: "It took too long." } });
    requestOf(await b.claim("fails"));
  },
);

testWithRedis(
  "equal requests end, and generate nothing again, when the replica of the first has no space to store its response",
  async () => {
    let hasSpace = true;
    const full = await replica(undefined, { ...unlimitedDisk, hasSpace: () => hasSpace });
    const other = await replica();
    const first = requestOf(await full.claim("no space"));
    const waiting = other.claim("no space");
    await until(other.isWaiting);
    hasSpace = false;
    first.append("the images");
    await first.store({});
    await expect(waiting).rejects.toThrow("had no space to store the response");
    hasSpace = true;
    for (const { claim } of [full, other])
      await expect(claim("no space")).rejects.toThrow("Use a new Idempotency-Key");
  },
);

testWithRedis("nothing is generated again for a key whose replica died", async () => {
  // Long enough for a busy machine: the other replica must find the claim before it ends.
  const [dead, alive] = [await replica(2000), await replica()];
  requestOf(await dead.claim("dies"));
  const waiting = alive.claim("dies");
  await until(alive.isWaiting);
  dead.redis.close();
  await expect(waiting).rejects.toThrow("may have been generated and billed");
  await expect(alive.claim("dies")).rejects.toThrow("Use a new Idempotency-Key");
});

testWithRedis("without Redis, new and waiting requests are refused", async () => {
  const [a, b] = [await replica(), await replica()];
  requestOf(await a.claim("lost"));
  const waiting = b.claim("lost");
  await until(b.isWaiting);
  b.redis.close();
  await expect(waiting).rejects.toThrow("Retry with the same key");
  for (const key of ["lost", "unavailable"])
    await expect(b.claim(key)).rejects.toThrow("Retry with the same key");
});

testWithRedis(
  "a request that ends while Redis does not respond leaves its key to later requests",
  async () => {
    const [a, b] = [await replica(600), await replica()];
    const request = requestOf(await a.claim("ends"));
    server.pause();
    await expect(a.claim("another")).rejects.toThrow("Redis is unreachable");
    await request.release();
    server.resume();
    await until(async () => (await b.claim("ends").catch(() => undefined))?.kind === "proceed");
  },
);

testWithRedis(
  "a request that is refused while Redis does not respond leaves its key to later requests",
  async () => {
    const [a, b] = [await replica(600), await replica()];
    server.pause();
    // Redis gets the claim, and executes it after the pause.
    await expect(a.claim("refused")).rejects.toThrow("Redis is unreachable");
    server.resume();
    await until(async () => (await b.claim("refused").catch(() => undefined))?.kind === "proceed");
  },
);

testWithRedis(
  "a key in flight is not sent again at another replica after Redis has lost its data",
  async () => {
    // Long enough for a busy machine: the claim is renewed every second.
    const [a, b] = [await replica(3000), await replica()];
    const claims = async () => (await server.command("KEYS", "vexel:claim:*")) as string[];
    const others = await claims();
    const request = requestOf(await a.claim("flushed"));
    const [own = ""] = (await claims()).filter((name) => !others.includes(name));
    await server.command("FLUSHALL");
    await until(async () => (await claims()).includes(own));
    const second = b.claim("flushed");
    await until(b.isWaiting);
    request.append("the images");
    await request.store({});
    expect((await second).kind).toBe("replay");
  },
);
