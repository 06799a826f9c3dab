/** Embeddings that replicas share through Redis (second-level cache): exact bytes, or a miss. */
import { afterAll, expect } from "bun:test";
import { RedisConnection } from "../../server/storage/redis/client.ts";
import { SharedEmbeddings } from "../../server/storage/redis/shared-embeddings.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway, type TestGateway, testKey } from "../harness.ts";
import { embeddingModel } from "../http/gateway-fixture.ts";
import { beforeAllWith } from "../programs.ts";
import { type RedisServer, startRedis, testWithRedis } from "../storage/redis-server.ts";
import { until } from "../until.ts";

const fake = startFake();
let server: RedisServer;
let redis: RedisConnection;
beforeAllWith(["redis"], async () => {
  server = await startRedis();
  redis = new RedisConnection({ url: server.url });
  await redis.attempted();
});
afterAll(async () => {
  fake.close();
  redis?.close();
  await server?.stop();
});

const secret = "a-secret-of-all-replicas";
/** Never misses because of a busy machine. */
const replica = (secretOfReplica = secret): SharedEmbeddings =>
  new SharedEmbeddings(redis, {
    secret: secretOfReplica,
    ttlMs: 60_000,
    now: () => 1234,
    timeoutMs: 20_000,
  });
const keyOf = (text: string): string => Bun.SHA256.hash(text, "base64");
const redisKeyOf = (text: string): Buffer =>
  Buffer.concat([Buffer.from("vxe:"), Buffer.from(keyOf(text), "base64").subarray(0, 16)]);
const vector = Float32Array.from({ length: 1536 }, (_, at) => Math.sin(at));

testWithRedis(
  "a damaged, truncated or foreign value, and one of before a clear, is a miss",
  async () => {
    const cache = replica();
    const find = async (): Promise<unknown> => (await cache.get([keyOf("text")]))?.[0];
    const write = async (): Promise<void> => {
      cache.add(keyOf("text"), { vector, tokens: 3 });
      await cache.close();
      expect(await find()).toBeDefined();
    };
    const redisKey = redisKeyOf("text");
    await write();
    const good = await redis.run((client) => client.getBuffer(redisKey));
    if (!good) throw new Error("the value is not where it is expected");
    const damaged: Uint8Array[] = [0, 4, 8, 16, 24, 32, good.length - 1].map((at) => {
      const bytes = good.slice();
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      return bytes;
    });
    damaged.push(good.slice(0, -4), good.slice(0, 10), new Uint8Array(0));
    cache.add(keyOf("other"), { vector, tokens: 3 });
    await cache.close();
    const other = redisKeyOf("other");
    damaged.push((await redis.run((client) => client.getBuffer(other))) ?? new Uint8Array(0));
    for (const bytes of damaged) {
      await redis.run((client) => client.set(redisKey, bytes));
      expect(await find()).toBeUndefined();
    }
    await write();
    cache.clear();
    expect(await find()).toBeUndefined();
    await write();
    await server.command("FLUSHALL");
    expect(await find()).toBeUndefined();
    await write();
  },
);

testWithRedis(
  "a vector that someone without VEXEL_SECRET wrote to Redis is never served: it is counted and deleted",
  async () => {
    const [cache, attacker] = [replica(), replica("another-secret-of-somebody")];
    cache.add(keyOf("text"), { vector, tokens: 3 });
    await cache.close();
    expect((await attacker.get([keyOf("text")]))?.[0]).toBeUndefined();
    attacker.add(keyOf("text"), { vector: vector.map((value) => -value), tokens: 3 });
    await attacker.close();
    const stored = () => redis.run((client) => client.getBuffer(redisKeyOf("text")));
    expect(await stored()).toBeDefined();
    expect((await cache.get([keyOf("text")]))?.[0]).toBeUndefined();
    expect(cache.rejected).toBe(1);
    await until(async () => !(await stored()));
    cache.add(keyOf("text"), { vector, tokens: 3 });
    await cache.close();
    expect((await cache.get([keyOf("text")]))?.[0]?.vector).toEqual(vector);
    expect(cache.rejected).toBe(1);
  },
);

testWithRedis(
  "a loss of data in Redis is not a clear: replicas keep their own vectors",
  async () => {
    const [cache, other] = [replica(), replica()];
    let cleared = 0;
    other.onCleared(async () => void cleared++);
    cache.add(keyOf("text"), { vector, tokens: 3 });
    await cache.close();
    expect((await other.get([keyOf("text")]))?.[0]).toBeDefined();
    await server.command("FLUSHALL");
    cache.add(keyOf("text"), { vector, tokens: 3 });
    await cache.close();
    expect((await other.get([keyOf("text")]))?.[0]).toBeDefined();
    expect(cleared).toBe(0);
  },
);

testWithRedis(
  "a clear while Redis is unavailable is done when Redis is available again, before anything is read",
  async () => {
    const own = new RedisConnection({ url: server.url, timeoutMs: 200 });
    await own.attempted();
    const cache = new SharedEmbeddings(own, {
      secret,
      ttlMs: 60_000,
      now: () => 1234,
      timeoutMs: 20_000,
    });
    const other = replica();
    cache.add(keyOf("suspect"), { vector, tokens: 3 });
    await until(async () => (await other.get([keyOf("suspect")]))?.[0] !== undefined);
    server.pause();
    await own.run((client) => client.get("any")).catch(() => undefined);
    expect(own.isAvailable).toBe(false);
    cache.clear();
    server.resume();
    await until(() => own.isAvailable);
    let found: Awaited<ReturnType<typeof cache.get>>;
    await until(async () => {
      found = await cache.get([keyOf("suspect")]);
      return found !== undefined;
    });
    expect(found).toEqual([undefined]);
    // The shared connection may notice the pause only now.
    await until(() =>
      redis
        .run((client) => client.ping())
        .then(() => redis.isAvailable)
        .catch(() => false),
    );
    expect(await other.get([keyOf("suspect")])).toEqual([undefined]);
    await cache.close();
    own.close();
  },
);

testWithRedis("a text that was embedded on one replica is a hit on another", async () => {
  const settings = { VEXEL_CACHE_BYTES: "1048576" };
  const start = (): TestGateway => startGateway({ yaml: configFor(fake.url), redis, settings });
  const [a, b] = [start(), start()];
  const embed = async (gateway: TestGateway, number: number): Promise<string> => {
    const body = { model: embeddingModel, input: `shared text ${number}` };
    const response = await gateway.post("/v1/embeddings", body);
    expect(response.status).toBe(200);
    return JSON.stringify(((await response.json()) as { data: unknown }).data);
  };
  let hits = 0;
  // On a busy machine, some lookups exceed their timeout and count as misses, and the connection may be lost with a
  // vector that is being written, but not each time.
  for (let number = 0; number < 50 && hits < 3; number++) {
    const written = Number(await server.command("DBSIZE"));
    const data = await embed(a, number);
    const end = performance.now() + 2000;
    await until(
      async () => Number(await server.command("DBSIZE")) > written || performance.now() > end,
    );
    const before = fake.requests.length;
    expect(await embed(b, number)).toBe(data);
    if (fake.requests.length === before) hits++;
  }
  expect(hits).toBe(3);
  for (const gateway of [a, b]) await gateway.close();
});

testWithRedis(
  "when a target drifts, each replica checks it once, not once for each other replica",
  async () => {
    let hasDrifted = false;
    const checks = [0, 0];
    const upstreams = checks.map((_, at) =>
      Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        fetch: async (request) => {
          const { input } = (await request.json()) as { input: string | string[] };
          const texts = [input].flat();
          if (texts[0]?.startsWith("The canary")) checks[at]!++;
          const embedding = at === 1 && hasDrifted ? [0, 1] : [1, 0];
          const data = texts.map((_text, index) => ({ object: "embedding", index, embedding }));
          return Response.json({ object: "list", data, usage: { prompt_tokens: texts.length } });
        },
      }),
    );
    const yaml = `
upstreams:
${upstreams.map(({ url }, at) => `  - { id: u${at}, kind: openai-compatible, baseUrl: "${url}v1" }`).join("\n")}
models:
  - { id: vectors, kind: embedding, targets: [{ upstream: u0, model: m }, { upstream: u1, model: m }] }
keys:
  - { name: test, key: ${testKey} }
`;
    const settings = { VEXEL_CACHE_BYTES: "1048576", VEXEL_CANARY_HOURS: "24" };
    const gateways = [1, 2, 3].map(() => startGateway({ yaml, redis, settings }));
    let texts = 0;
    const embed = (gateway: TestGateway) =>
      gateway.post("/v1/embeddings", { model: "vectors", input: `drift ${texts++}` });
    const embedOnAll = async () => {
      for (const gateway of gateways) expect((await embed(gateway)).status).toBe(200);
    };
    await until(() => checks.every((count) => count === 3));
    // Each replica has read or written the shared cache, also on a busy machine, where some lookups time out.
    for (let round = 0; round < 5; round++) {
      await embedOnAll();
      await Bun.sleep(50);
    }
    hasDrifted = true;
    // A fourth replica has found the drift.
    const fourth = replica();
    fourth.clear();
    const logs = () =>
      gateways.filter((gateway) => gateway.log().includes("target-drifted")).length;
    await until(async () => {
      await embedOnAll();
      return logs() === 3;
    });
    for (let round = 0; round < 20; round++) {
      await embedOnAll();
      await Bun.sleep(20);
    }
    expect(checks).toEqual([6, 6]);
    await fourth.close();
    for (const gateway of gateways) await gateway.close();
    for (const upstream of upstreams) await upstream.stop(true);
  },
);
