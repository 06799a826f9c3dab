/** Limits and budgets below the number of replicas: replicas that share Redis use them fully, and never exceed them. */
import { afterAll, describe, expect, test } from "bun:test";
import type { GatewayError } from "../../server/lib/gateway-error.ts";
import { LimitScope, noDemand } from "../../server/limits/limiter.ts";
import { sharedRateLimitCounters } from "../../server/limits/rate-limit-counters.ts";
import { readSettings } from "../../server/settings.ts";
import { RedisConnection } from "../../server/storage/redis/client.ts";
import { leaseMs } from "../../server/storage/redis/limits-scripts.ts";
import { budgeted, noon, withRow } from "../budgets/budgets-fixture.ts";
import { startFake } from "../fake-upstream.ts";
import { bearer, embeddingModel } from "../http/gateway-fixture.ts";
import { beforeAllWith } from "../programs.ts";
import { type RedisServer, startRedis, testWithRedis } from "../storage/redis-server.ts";
import { until } from "../until.ts";
import { type SlotsCase, type SlotsResult, simulateSlots } from "./slots-simulation.ts";
import { startGateways } from "./test-gateways.ts";
import { replicaBudgets, testReplicas } from "./test-replicas.ts";

const fake = startFake();
let server: RedisServer;
let redis: RedisConnection;
beforeAllWith(["redis"], async () => {
  server = await startRedis();
  // Without a response in time, a replica would use its own share, which may exceed a limit below the replicas.
  redis = new RedisConnection({ url: server.url, timeoutMs: 60_000 });
  await redis.attempted();
});
afterAll(async () => {
  fake.close();
  redis?.close();
  await server?.stop();
});

/** `count` replicas: some have clients, or all of them. */
function clientsOf(count: number, concurrent: number): (readonly number[])[] {
  const clients = (of: (at: number) => number): number[] =>
    Array.from({ length: count }, (_, at) => of(at));
  const onAll = clients(() => Math.ceil((2 * concurrent) / count) + 1);
  const onOne = clients((at) => (at === 0 ? concurrent + 2 : 0));
  const onTwo = clients((at) => (at === 0 ? 2 * concurrent : Number(at === 1)));
  return [onAll, onOne, onTwo];
}

const name = ({ concurrent, clients, withProject, requestMs }: SlotsCase): string =>
  `concurrent: ${concurrent}${withProject ? " of key and project" : ""}, clients ${clients.join(" ")}, ${requestMs ?? "20 to 60"} ms`;

describe("a concurrency limit below or above the number of replicas", () => {
  const short: SlotsCase[] = [
    { concurrent: 1, replicas: 10 },
    { concurrent: 2, replicas: 3 },
    { concurrent: 3, replicas: 3 },
    { concurrent: 8, replicas: 3 },
  ].flatMap(({ concurrent, replicas }) =>
    clientsOf(replicas, concurrent).map((clients) => ({ concurrent, clients })),
  );
  // Slots of two limits: two replicas must not each have the slot that the other one lacks.
  short.push({ concurrent: 1, clients: [2, 2, 2], withProject: true });
  short.push({ concurrent: 8, clients: new Array(10).fill(3), withProject: true });
  const long = short.map((each) => ({ ...each, requestMs: [1000, 1000] as const }));
  const cases: readonly SlotsCase[] = [...short, ...long];
  const seconds = 4;
  let results: readonly SlotsResult[] = [];
  beforeAllWith(["redis"], async () => {
    results = await simulateSlots(redis, cases, seconds);
  });

  testWithRedis(
    "is used to 90 % by requests of a second, and to 60 % by those of 20 to 60 ms",
    () => {
      const least = ({ requestMs }: SlotsCase): number => (requestMs ? 0.9 : 0.6);
      for (const [at, each] of cases.entries())
        expect(results[at]?.utilization, name(each)).toBeGreaterThanOrEqual(least(each));
    },
  );

  testWithRedis("gives every replica with waiting requests a slot within two seconds", () => {
    for (const [at, each] of short.entries())
      expect(results[at]?.longestWaitMs, name(each)).toBeLessThanOrEqual(2000);
  });

  testWithRedis("is never exceeded", () => {
    const most = cases.map((one, at) => `${name(one)}: ${results[at]?.mostInFlight}`);
    expect(most).toEqual(cases.map((one) => `${name(one)}: ${one.concurrent}`));
  });

  testWithRedis("serves every replica, and refuses no request", () => {
    for (const result of results) expect(result.refused).toBe(0);
    for (const [at, { clients }] of short.entries()) {
      const served = results[at]?.served.map((count) => count > 0);
      expect(served).toEqual(clients.map((count) => count > 0));
    }
  });
});

testWithRedis(
  "three gateways with concurrent: 1 serve every request, one after the other",
  async () => {
    await using gateways = await startGateways({
      redisUrl: server.url,
      fakeUrl: fake.url,
      key: "limits: { concurrent: 1 }",
      settings: { VEXEL_BATCH_WAIT_MS: "0", VEXEL_QUEUE_TIMEOUT: "60" },
    });
    const statuses = await Promise.all(
      Array.from({ length: 25 }, async (_, at) => {
        const body = { model: embeddingModel, input: `text ${at}` };
        return (await gateways.at(at).post("/v1/embeddings", body)).status;
      }),
    );
    expect(statuses).toEqual(new Array(25).fill(200));
  },
);

testWithRedis(
  "concurrency slots in use return after Redis has lost its data, and requests are served as before",
  async () => {
    await using gateways = await startGateways({
      redisUrl: server.url,
      fakeUrl: fake.url,
      key: "limits: { concurrent: 4 }",
      settings: { VEXEL_BATCH_WAIT_MS: "0", VEXEL_QUEUE_TIMEOUT: "60" },
    });
    const send = async (at: number): Promise<number> => {
      const body = { model: embeddingModel, input: `lost ${at}` };
      return (await gateways.at(at).post("/v1/embeddings", body)).status;
    };
    // All slots are in use while the data are lost.
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    fake.script({ until: released }, { times: 4 });
    const before = fake.requests.length;
    const held = [0, 1, 2, 3].map(send);
    await until(() => fake.requests.length - before === 4);
    await server.command("FLUSHALL");
    const waiting = Array.from({ length: 12 }, (_, at) => send(10 + at));
    release();
    expect(await Promise.all([...held, ...waiting])).toEqual(new Array(16).fill(200));
  },
);

testWithRedis(
  "a rate limit below the number of replicas admits its requests on any replica",
  async () => {
    for (const requestsPerMinute of [1, 2, 3, 8]) {
      let now = 0;
      const replicas = testReplicas(10, { redis, now: () => now }).map(({ limiter }) => ({
        limiter,
        scope: new LimitScope("key:a", { requestsPerMinute }, sharedRateLimitCounters(limiter), 0),
      }));
      let admitted = 0;
      const demand = { ...noDemand, requests: 1 };
      const sendToAll = async (): Promise<void> => {
        for (const { limiter, scope } of replicas) {
          const grant = await limiter.take({ scopes: [scope], demand });
          if (grant?.outcome === "taken") admitted++;
        }
      };
      await sendToAll();
      expect(admitted).toBe(requestsPerMinute);
      // A second later, and for each request that the limit allows in the next minute.
      for (now = 1000; now <= 61_000; now += 1000) await sendToAll();
      expect(admitted).toBe(requestsPerMinute * 2);
    }
  },
);

testWithRedis("a budget for fewer requests than replicas is spent on any replica", async () => {
  for (const requests of [1, 2, 3, 8]) {
    const key = budgeted({ day: requests });
    const replicas = testReplicas(10, { redis, now: () => 0 }).map(({ limiter }) => ({
      limiter,
      ...replicaBudgets({ limiter }),
    }));
    let spent = 0;
    for (const { limiter, budgets: own, accounts } of [...replicas, ...replicas]) {
      const budgets = own.request([key], { dollars: 1, isCertain: true }, noon, (reservation) => {
        withRow(reservation, accounts, [key], noon).settle(1);
        spent++;
      });
      const taking = limiter.take({ scopes: [], demand: noDemand, budgets });
      await taking.catch((error: GatewayError) => expect(error.kind).toBe("over_budget"));
    }
    expect(spent).toBe(requests);
  }
});

testWithRedis(
  "a client that disconnects while its slot is being taken leaves no reservation behind",
  async () => {
    await server.command("FLUSHALL");
    await using gateways = await startGateways({
      count: 1,
      redisUrl: server.url,
      fakeUrl: fake.url,
      key: "limits: { concurrent: 1 }, budget: { day: 1000 }",
      settings: { VEXEL_BATCH_WAIT_MS: "0", VEXEL_QUEUE_TIMEOUT: "60" },
    });
    const gateway = gateways.at(0);
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    fake.script({ until: released });
    const before = fake.requests.length;
    const body = { model: embeddingModel, input: "holds the slot" };
    const first = gateway.post("/v1/embeddings", body);
    await until(() => fake.requests.length > before);
    const client = new AbortController();
    const second = fetch(`${gateway.url}/v1/embeddings`, {
      method: "POST",
      headers: { ...bearer, "content-type": "application/json" },
      body: JSON.stringify({ ...body, input: "waits for the slot" }),
      signal: client.signal,
    }).catch(() => undefined);
    await until(async () => (await firstReplicas()).length > 0);
    server.pause();
    release();
    expect((await first).status).toBe(200);
    // The second request takes the slot that the first one gave back: Redis has not replied yet.
    await Bun.sleep(100);
    client.abort();
    await second;
    await until(() => gateway.rows().length === 2);
    server.resume();
    // The slot and the reservation are given back within milliseconds, and nothing renews them.
    await Bun.sleep(300);
    expect(await server.command("KEYS", "vexel:budget-leases:*")).toEqual([]);
    expect(await server.command("KEYS", "vexel:slots:*")).toEqual([]);
  },
);

/** At full limits, the replica that has waited longest. */
const firstReplicas = async (): Promise<unknown[]> =>
  (await server.command("KEYS", "vexel:slots-first:*")) as unknown[];

testWithRedis("a replica that stops is not counted any more", async () => {
  await server.command("FLUSHALL");
  const gateways = await startGateways({
    count: 2,
    redisUrl: server.url,
    fakeUrl: fake.url,
    key: "limits: { concurrent: 1 }",
  });
  await gateways.at(0).close();
  expect(await server.command("ZCARD", "vexel:replicas")).toBe(1);
  await gateways[Symbol.asyncDispose]();
});

test("slots of a replica that died return before the requests that wait for them time out", () => {
  expect(leaseMs / 1000).toBeLessThan(readSettings({}).VEXEL_QUEUE_TIMEOUT);
});
