/** Limits and budgets that replicas share through Redis: exact, also when a replica dies. */
import { afterAll, expect } from "bun:test";
import { LeasedBudgetCounters } from "../../server/budgets/leased-budget-counters.ts";
import type { ConcurrencySlots } from "../../server/limits/concurrency-slots.ts";
import { leasedRateLimitCounters } from "../../server/limits/leased-rate-limit-counters.ts";
import { LimitScope, leaseAndTake, noDemand } from "../../server/limits/limiter.ts";
import type { RateCounter } from "../../server/limits/rate-limit-counters.ts";
import { RedisConnection } from "../../server/storage/redis/client.ts";
import { budgetCounterLaws } from "../budgets/budget-counters.laws.ts";
import { budgeted } from "../budgets/budgets-fixture.ts";
import { startFake } from "../fake-upstream.ts";
import { randomFrom } from "../fuzz/routing-simulation.ts";
import { configFor, startGateway, type TestGateway, testKey } from "../harness.ts";
import { embeddingModel } from "../http/gateway-fixture.ts";
import { rateLimitCounterLaws } from "../limits/rate-limit-counters.laws.ts";
import { beforeAllWith } from "../programs.ts";
import { type RedisServer, startRedis, testWithRedis } from "../storage/redis-server.ts";
import { until } from "../until.ts";
import { type TestReplica, testReplicas } from "./shared-pools.ts";

const fake = startFake();
const adminToken = "admin-token-of-shared-limits";
let server: RedisServer;
let redis: RedisConnection;
beforeAllWith(["redis"], async () => {
  server = await startRedis();
  redis = new RedisConnection({ url: server.url, reconnectMs: [5, 20] });
  await redis.attempted();
});
afterAll(async () => {
  fake.close();
  redis?.close();
  await server?.stop();
});

/** Gateways in this process that share Redis. `key`: settings of the API key. */
async function startGateways(
  count: number,
  key: string,
  settings: Readonly<Record<string, string>> = {},
) {
  const connections = Array.from({ length: count }, () => new RedisConnection({ url: server.url }));
  await Promise.all(connections.map((connection) => connection.attempted()));
  const yaml = configFor(fake.url).replace(`key: ${testKey}`, `key: ${testKey}, ${key}`);
  const gateways = connections.map((connection) =>
    startGateway({ yaml, redis: connection, settings }),
  );
  const knowsAll = async ({ url }: TestGateway): Promise<boolean> =>
    ((await (await fetch(`${url}/readyz`)).json()) as { replicas: number }).replicas === count;
  for (const gateway of gateways) await until(() => knowsAll(gateway));
  return {
    at: (number: number): TestGateway => gateways[number % count] as TestGateway,
    [Symbol.asyncDispose]: async () => {
      for (const gateway of gateways) await gateway.close();
      for (const connection of connections) connection.close();
    },
  };
}

const oneReplica = (now: () => number): TestReplica => {
  const [replica] = testReplicas(1, { redis, now });
  if (!replica) throw new Error("no replica");
  return replica;
};

const countersOf = (replica: TestReplica) => leasedRateLimitCounters(replica, () => undefined);

const rateOf = (replica: TestReplica, perMinute: number): RateCounter =>
  countersOf(replica).createRate("key:a", "requests", perMinute, 0);

function tenSlotsOf(replica: TestReplica): ConcurrencySlots {
  const slots = countersOf(replica).createSlots("key:a");
  slots.limit = 10;
  return slots;
}

/** The counter of a budget of a dollar per day. */
const budgetOf = (replica: TestReplica, spent: number) =>
  new LeasedBudgetCounters(replica, { spentBefore: () => spent }).counterOf(
    budgeted({ day: 1 }),
    "2026-11-15",
  );

rateLimitCounterLaws("leased", (now) => countersOf(oneReplica(now)), testWithRedis);

budgetCounterLaws(
  "leased",
  (spentBefore) =>
    new LeasedBudgetCounters(
      oneReplica(() => 0),
      { spentBefore, maxCounters: 8 },
    ),
  testWithRedis,
);

/** Takes one item after the other until the counter refuses. Returns how many it took. */
async function takeAll(counter: RateCounter, now: number, most = Number.POSITIVE_INFINITY) {
  let taken = 0;
  while (taken < most) {
    await counter.leases?.lease(1, now);
    if (counter.waitMs(1, now) > 0 || !counter.leases?.isLeased(1, now)) return taken;
    counter.take(1, now);
    taken++;
  }
  return taken;
}

testWithRedis(
  "three replicas together admit exactly the limit, and a dead replica's slice is released when its lease expires",
  async () => {
    let now = 0;
    const replicas = testReplicas(3, { redis, now: () => now });
    const [a, b, dead] = replicas.map((replica) => rateOf(replica, 1000)) as [
      RateCounter,
      RateCounter,
      RateCounter,
    ];
    // The third replica leases more than it uses, and dies.
    await dead.leases?.lease(100, now);
    const taken = [await takeAll(dead, now, 40)];
    taken.push(...(await Promise.all([takeAll(a, now), takeAll(b, now)])));
    expect(taken.every((count) => count > 0)).toBe(true);
    expect(sum(taken)).toBe(940);
    now = 6000;
    const refilled = (1000 * now) / 60_000;
    taken.push(...(await Promise.all([takeAll(a, now), takeAll(b, now)])));
    // What the dead replica had reported as spent stays spent: here nothing, so its whole slice returns.
    expect(sum(taken)).toBeGreaterThanOrEqual(1000 + refilled);
    expect(sum(taken)).toBeLessThanOrEqual(1000 + refilled + 40);
  },
);

testWithRedis(
  "three replicas together have exactly the limit of slots, and slots of a dead replica are released",
  async () => {
    let now = 0;
    const slots = testReplicas(3, { redis, now: () => now }).map(tenSlotsOf);
    const acquireAll = async (some: readonly ConcurrencySlots[]): Promise<number> => {
      let acquired = 0;
      for (let isAnyFree = true; isAnyFree; ) {
        isAnyFree = false;
        for (const one of some) {
          await one.lease?.();
          if (!one.hasFreeSlot) continue;
          one.acquire();
          acquired++;
          isAnyFree = true;
        }
      }
      return acquired;
    };
    expect(await acquireAll(slots)).toBe(10);
    const [dead, ...alive] = slots;
    now = 6000;
    expect(await acquireAll(alive)).toBe(dead?.inFlight ?? 0);
  },
);

/**
 * A hundred replicas in virtual time, with requests at random moments. Returns the requests that were admitted, and the
 * calls of Redis of each replica per second.
 */
async function simulate(limitPerSecond: number, requestsPerSecond: number, seconds: number) {
  const [count, stepMs, tickMs] = [100, 20, 500];
  let now = 0;
  const replicas = testReplicas(count, { redis, now: () => now });
  const counters = replicas.map((replica) => rateOf(replica, limitPerSecond * 60));
  const random = randomFrom(17);
  let admitted = 0;
  const send = async (counter: RateCounter): Promise<void> => {
    // As the admission does: no other request comes between the check and the start.
    if (counter.leases?.canLease(1, now)) await counter.leases?.lease(1, now);
    if (counter.waitMs(1, now) > 0 || !counter.leases?.isLeased(1, now)) return;
    counter.take(1, now);
    admitted++;
  };
  for (; now < seconds * 1000; now += stepMs) {
    const arrivals = Array.from({ length: (requestsPerSecond * stepMs) / 1000 }, () =>
      Math.floor(random() * count),
    );
    await Promise.all(arrivals.map((at) => send(counters[at] as RateCounter)));
    if (now % tickMs === 0) await Promise.all(replicas.map((replica) => replica.tick()));
    // The bucket is full at first: never more than the full bucket and its refill is admitted.
    expect(admitted).toBeLessThanOrEqual(limitPerSecond * (60 + (now + 1) / 1000));
  }
  const calls = replicas.reduce((sum, replica) => sum + replica.calls, 0);
  return { admitted, callsPerReplica: calls / count / seconds };
}

testWithRedis("a hundred replicas stay within a limit, with few calls of Redis", async () => {
  // docs/capacity.md has the figures of ten seconds.
  const below = await simulate(1000, 1000, 4);
  expect(below.admitted).toBe(4000);
  expect(below.callsPerReplica).toBeLessThan(5);
  const above = await simulate(20, 2000, 4);
  expect(above.admitted).toBeGreaterThan(0.95 * 20 * (60 + 4));
  expect(above.callsPerReplica).toBeLessThan(20);
});

testWithRedis("a burst of requests within limit and budget is admitted", async () => {
  const [replica] = testReplicas(1, { redis, now: () => 0 }) as [TestReplica];
  const scope = new LimitScope("key:a", { requestsPerMinute: 1000 }, countersOf(replica), 0);
  const taken: unknown[] = [];
  for (let request = 0; request < 60; request++) {
    taken.push(leaseAndTake([scope], { ...noDemand, requests: 1 }, () => 0));
    // The first requests lease a slice. Requests that arrive meanwhile wait for the next slice.
    if (request % 20 === 9) await Promise.resolve();
  }
  expect((await Promise.all(taken)).filter((shortage) => shortage !== undefined)).toEqual([]);

  const limits = "limits: { requestsPerMinute: 100000, tokensPerMinute: 1000000 }";
  await using gateways = await startGateways(1, `${limits}, budget: { day: 1000 }`);
  const statuses = await Promise.all(
    Array.from({ length: 60 }, async (_, at) => {
      const body = { model: embeddingModel, input: `text ${at} of a burst` };
      return (await gateways.at(0).post("/v1/embeddings", body)).status;
    }),
  );
  expect(statuses.filter((status) => status !== 200)).toEqual([]);
});

testWithRedis("three replicas together spend exactly the budget", async () => {
  const spentBefore = 0.25;
  const replicas = testReplicas(3, { redis, now: () => 0 });
  const counters = replicas.map((replica) => budgetOf(replica, spentBefore));
  let spent = spentBefore;
  const spendAll = async (): Promise<void> => {
    for (let isAnyAdmitted = true; isAnyAdmitted; ) {
      isAnyAdmitted = false;
      for (const counter of counters) {
        await counter.lease?.(0.01, 0.01, 1);
        if (counter.wouldExceed(0.01, 1)) continue;
        counter.reserve(0.01, false);
        counter.release(0.01, false);
        counter.spend(0.01);
        spent += 0.01;
        isAnyAdmitted = true;
      }
    }
  };
  await spendAll();
  expect(spent).toBeGreaterThan(0.95);
  // Slices that are too small for a request are given back.
  for (let tick = 0; tick < 3; tick++) await Promise.all(replicas.map((replica) => replica.tick()));
  await spendAll();
  expect(spent).toBeCloseTo(1, 9);
  expect(counters.map((counter) => Math.round(counter.spent * 100))).toEqual([100, 100, 100]);
});

testWithRedis("a replica with all slots leaves other replicas their share", async () => {
  const [a, b] = testReplicas(2, { redis, now: () => now }) as [TestReplica, TestReplica];
  let now = 0;
  const [busy, waiting] = [tenSlotsOf(a), tenSlotsOf(b)];
  for (let request = 0; request < 10; request++) {
    await busy.lease?.();
    busy.acquire();
  }
  await waiting.lease?.();
  expect(waiting.hasFreeSlot).toBe(false);
  // Both replicas ask for slots. Each request that ends on the busy replica is followed by another one, if it gets one.
  let acquired = 0;
  for (let round = 0; round < 40; round++) {
    now += 200;
    busy.release(1);
    await Promise.all([a.tick(), b.tick()]);
    await busy.lease?.();
    if (busy.hasFreeSlot) busy.acquire();
    await waiting.lease?.();
    for (; waiting.hasFreeSlot; acquired++) {
      waiting.acquire();
      await waiting.lease?.();
    }
  }
  expect(acquired).toBe(5);
  expect(busy.inFlight).toBe(5);
});

testWithRedis(
  "while Redis is unavailable, each replica has its share of the remaining limit",
  async () => {
    let isReachable = true;
    const replicas = testReplicas(3, { redis, now: () => 0, isReachable: () => isReachable });
    const counters = replicas.map((replica) => rateOf(replica, 900));
    await Promise.all(counters.map((counter) => takeAll(counter, 0, 100)));
    await Promise.all(replicas.map((replica) => replica.tick()));
    isReachable = false;
    const shares = await Promise.all(counters.map((counter) => takeAll(counter, 0)));
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(200);
    expect(Math.max(...shares)).toBeLessThanOrEqual(300);
    isReachable = true;
    await Promise.all(replicas.map((replica) => replica.tick()));
    // The requests that were admitted without Redis count.
    const rest = await Promise.all(counters.map((counter) => takeAll(counter, 0)));
    expect(sum(rest)).toBeLessThanOrEqual(Math.max(0, 600 - sum(shares)));
  },
);

testWithRedis("a flush of Redis gives no replica more than was left", async () => {
  const replicas = testReplicas(3, { redis, now: () => 0 });
  const counters = replicas.map((replica) => rateOf(replica, 900));
  const [first] = replicas.map((replica) => budgetOf(replica, 0));
  await first?.lease?.(0.75, 0.75, 1);
  first?.spend(0.75);
  const taken = await Promise.all(counters.map((counter) => takeAll(counter, 0, 200)));
  for (let round = 0; round < 3; round++) await Promise.all(replicas.map(({ tick }) => tick()));
  await server.command("FLUSHALL");
  taken.push(...(await Promise.all(counters.map((counter) => takeAll(counter, 0)))));
  expect(sum(taken)).toBeLessThanOrEqual(900);
  expect(sum(taken)).toBeGreaterThan(800);
  await first?.lease?.(0.25, 0.25, 1);
  expect(first?.wouldExceed(0.25, 1)).toBe(false);
  first?.spend(0.25);
  await first?.lease?.(0.01, 0.01, 1);
  expect(first?.wouldExceed(0.01, 1)).toBe(true);
});

testWithRedis(
  "three gateways together admit exactly the limits of a key, and an outage of Redis is in health, events and log until it ends",
  async () => {
    await using gateways = await startGateways(
      3,
      "limits: { requestsPerMinute: 10 }, budget: { day: 5 }",
    );
    const sendTo = async (gateway: TestGateway, input: string): Promise<number> => {
      const { status } = await gateway.post("/v1/embeddings", { model: embeddingModel, input });
      return status;
    };
    const admitted = async (text: string): Promise<number> => {
      const statuses = await Promise.all(
        Array.from({ length: 30 }, (_, at) => sendTo(gateways.at(at), `${text} ${at}`)),
      );
      expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
      return statuses.filter((status) => status === 200).length;
    };
    expect(await admitted("with Redis")).toBe(10);
    const health = async (): Promise<unknown> =>
      ((await (await fetch(`${gateways.at(0).url}/readyz`)).json()) as { redis: string }).redis;
    expect(await health()).toBe("available");
    await server.stop();
    await until(async () => (await health()) === "unavailable");
    expect(await admitted("without Redis")).toBeLessThanOrEqual(10);
    await server.start();
    await until(async () => (await health()) === "available");
    expect(await admitted("after the restart of Redis")).toBeLessThan(10);
    const log = gateways.at(0).log();
    expect(log).toContain('"redis-unavailable"');
    expect(log).toContain('"redis-recovered"');
  },
);

testWithRedis("every replica shows the same use of limits, also of idle ones", async () => {
  await using gateways = await startGateways(
    3,
    "limits: { requestsPerMinute: 1000, tokensPerMinute: 100000, concurrent: 8 }",
    { VEXEL_ADMIN_TOKEN: adminToken },
  );
  interface Shown {
    readonly data: readonly {
      readonly rate: string;
      readonly used: number;
      readonly left: number;
    }[];
  }
  const limitsOf = async ({ url }: TestGateway): Promise<readonly string[]> => {
    const headers = { authorization: `Bearer ${adminToken}` };
    const response = await fetch(`${url}/admin/api/limits`, { headers });
    return ((await response.json()) as Shown).data.map(
      ({ rate, used, left }) => `${rate}: ${used} + ${left}`,
    );
  };
  const { promise: end, resolve } = Promise.withResolvers<void>();
  fake.script({ until: end }, { times: 5 });
  // The third replica gets no request.
  const requests = [0, 1, 0, 1, 0].map((at) =>
    gateways
      .at(at)
      .post("/v1/embeddings", { model: embeddingModel, input: `${at} ${Math.random()}` }),
  );
  // Buckets refill by a request in 60 ms, so only the limit of slots has a fixed figure.
  const slots = ["concurrent: 5 + 3"];
  for (const at of [0, 1, 2]) {
    await until(async () => {
      const shown = await limitsOf(gateways.at(at));
      return shown.filter((line) => slots.includes(line)).length === 1;
    });
  }
  resolve();
  expect((await Promise.all(requests)).map(({ status }) => status)).toEqual(new Array(5).fill(200));
  for (const at of [0, 1, 2]) {
    await until(async () => (await limitsOf(gateways.at(at))).includes("concurrent: 0 + 8"));
  }
});

const sum = (counts: readonly number[]): number =>
  counts.reduce((total, count) => total + count, 0);
