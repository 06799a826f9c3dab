/** Three gateways that share a concurrency limit use it as one gateway with a limit of its own does, in real time. */
import { afterAll, expect } from "bun:test";
import { RedisConnection } from "../../server/storage/redis/client.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway, type TestGateway, testKey } from "../harness.ts";
import { embeddingModel } from "../http/gateway-fixture.ts";
import { beforeAllWith } from "../programs.ts";
import { type RedisServer, startRedis, testWithRedis } from "../storage/redis-server.ts";
import { simulateSlots } from "./slots-simulation.ts";
import { startGateways } from "./test-gateways.ts";

const fake = startFake();
let server: RedisServer;
beforeAllWith(["redis"], async () => {
  server = await startRedis();
});
afterAll(async () => {
  fake.close();
  await server?.stop();
});

const settings = { VEXEL_BATCH_WAIT_MS: "0", VEXEL_QUEUE_TIMEOUT: "30" };
const limited = (concurrent: number): string => `limits: { concurrent: ${concurrent} }`;

interface Result {
  readonly served: number;
  /** The longest time between two responses of one gateway. */
  readonly longestWaitMs: number;
}

/** Three clients of each gateway send one request after the other. */
async function load(
  gateways: readonly TestGateway[],
  requestMs: number,
  seconds: number,
): Promise<Result> {
  fake.script({ delayMs: requestMs }, { times: 100_000 });
  const end = performance.now() + seconds * 1000;
  let [served, longestWaitMs] = [0, 0];
  const clients = gateways.flatMap((gateway) => {
    let servedAt = performance.now();
    return [0, 1, 2].map(async (client) => {
      for (let count = 0; performance.now() < end; count++) {
        const input = `${gateway.url} ${client} ${count} ${requestMs}`;
        const response = await gateway.post("/v1/embeddings", { model: embeddingModel, input });
        expect(response.status).toBe(200);
        served++;
        longestWaitMs = Math.max(longestWaitMs, performance.now() - servedAt);
        servedAt = performance.now();
      }
    });
  });
  await Promise.all(clients);
  fake.clear();
  return { served, longestWaitMs };
}

/** The served requests of three gateways, as a share of those of one gateway that counts for itself. */
async function compare(concurrent: number, requestMs: number, seconds: number) {
  const yaml = configFor(fake.url).replace(testKey, `${testKey}, ${limited(concurrent)}`);
  const alone = startGateway({ yaml, settings });
  const reference = await load([alone], requestMs, seconds);
  await alone.close();
  await using gateways = await startGateways({
    redisUrl: server.url,
    fakeUrl: fake.url,
    key: limited(concurrent),
    settings,
  });
  const { served, longestWaitMs } = await load([0, 1, 2].map(gateways.at), requestMs, seconds);
  return { share: served / reference.served, longestWaitMs };
}

testWithRedis(
  "every limit is used, and gives each of ten replicas a slot within two seconds",
  async () => {
    const redis = new RedisConnection({ url: server.url, timeoutMs: 60_000 });
    await redis.attempted();
    const cases = [1, 2, 3, 4, 5, 7, 10, 15, 30].flatMap((concurrent) =>
      [2, 3, 5, 10].map((replicas) => ({
        concurrent,
        clients: new Array<number>(replicas).fill(Math.ceil((2 * concurrent) / replicas) + 1),
      })),
    );
    const results = await simulateSlots(redis, cases, 10);
    for (const [at, { concurrent, clients }] of cases.entries()) {
      const name = `${concurrent} slots, ${clients.length} replicas`;
      expect(results[at]?.utilization, name).toBeGreaterThanOrEqual(0.6);
      expect(results[at]?.longestWaitMs, name).toBeLessThanOrEqual(2000);
    }
    redis.close();
  },
  600_000,
);

for (const concurrent of [1, 2]) {
  testWithRedis(
    `replicas with concurrent: ${concurrent} serve as many requests of a second as one gateway, but for a tenth`,
    async () => {
      expect((await compare(concurrent, 1000, 10)).share).toBeGreaterThanOrEqual(0.9);
    },
    120_000,
  );

  testWithRedis(
    `replicas with concurrent: ${concurrent} serve 60 % of the short requests that one gateway serves, and each replica within two seconds`,
    async () => {
      const { share, longestWaitMs } = await compare(concurrent, 40, 5);
      expect(share).toBeGreaterThanOrEqual(0.6);
      expect(longestWaitMs).toBeLessThanOrEqual(2000);
    },
    120_000,
  );
}
