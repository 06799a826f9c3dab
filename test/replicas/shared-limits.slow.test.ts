/** Limits and budgets that replicas share through Redis: exact, also when a replica dies. */
import { afterAll, expect } from "bun:test";
import type { GatewayError } from "../../server/lib/gateway-error.ts";
import { type ConcurrencySlots, SlotLease } from "../../server/limits/concurrency-slots.ts";
import { LimitScope, noDemand, take } from "../../server/limits/limiter.ts";
import { sharedRateLimitCounters } from "../../server/limits/rate-limit-counters.ts";
import type { SharedLimiter } from "../../server/limits/shared-limiter.ts";
import type { Reservation } from "../../server/request/reservation.ts";
import { RedisConnection } from "../../server/storage/redis/client.ts";
import { forgetEndedMs, leaseMs } from "../../server/storage/redis/limits-scripts.ts";
import { accountLaws } from "../budgets/account.laws.ts";
import { budgeted, certain, noon, reserveIn, withRow } from "../budgets/budgets-fixture.ts";
import { startFake } from "../fake-upstream.ts";
import { randomFrom } from "../fuzz/routing-simulation.ts";
import type { TestGateway } from "../harness.ts";
import { embeddingModel } from "../http/gateway-fixture.ts";
import { rateLimitCounterLaws } from "../limits/rate-limit-counters.laws.ts";
import { beforeAllWith } from "../programs.ts";
import { type RedisServer, startRedis, testWithRedis } from "../storage/redis-server.ts";
import { until } from "../until.ts";
import { startGateways } from "./test-gateways.ts";
import { replicaBudgets, type TestReplica, testReplicas } from "./test-replicas.ts";

const fake = startFake();
const adminToken = "admin-token-of-shared-limits";
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

const oneReplica = (now: () => number): TestReplica => {
  const [replica] = testReplicas(1, { redis, now });
  if (!replica) throw new Error("no replica");
  return replica;
};

const countersOf = ({ limiter }: TestReplica) => sharedRateLimitCounters(limiter);

const scopeOf = (replica: TestReplica, requestsPerMinute: number): LimitScope =>
  new LimitScope("key:a", { requestsPerMinute }, countersOf(replica), 0);

function tenSlotsOf(replica: TestReplica): ConcurrencySlots {
  const slots = countersOf(replica).createSlots("key:a");
  slots.limit = 10;
  return slots;
}

const nothing = { scopes: [], demand: noDemand };
const oneRequest = { ...noDemand, requests: 1 };

/** Sends one request to each of the replicas, and again, until they refuse it. Returns how many they admitted. */
async function sendAll(
  replicas: readonly TestReplica[],
  scopes: readonly LimitScope[],
  now: number,
  most = Number.POSITIVE_INFINITY,
): Promise<number> {
  const counts = replicas.map(async ({ limiter }, at) => {
    const scope = scopes[at] as LimitScope;
    for (let admitted = 0; admitted < most; admitted++) {
      const isAdmitted = limiter.isReachable
        ? (await limiter.take({ ...nothing, scopes: [scope], demand: oneRequest }))?.outcome ===
          "taken"
        : take([scope], oneRequest, now) === undefined;
      if (!isAdmitted) return admitted;
    }
    return most;
  });
  return sum(await Promise.all(counts));
}

/** Undefined if there is no free slot. */
async function acquire(
  { limiter }: TestReplica,
  slots: ConcurrencySlots,
): Promise<SlotLease | undefined> {
  const lease = leaseOf(limiter, slots);
  const grant = await limiter.take({ ...nothing, lease });
  if (grant?.outcome === "taken") return lease;
  lease.releaseUnused();
  return undefined;
}

const leaseOf = (limiter: SharedLimiter, slots: ConcurrencySlots): SlotLease =>
  new SlotLease([slots], {
    clock: () => 0,
    onRelease: () => undefined,
    newId: () => limiter.newId(),
  });

const dollarADay = budgeted({ day: 1 });
type TestBudgets = ReturnType<typeof openBudgets>;

/** The budget of a dollar a day at one replica. */
function openBudgets(replica: TestReplica, spentBefore: () => number = () => 0) {
  const { limiter } = replica;
  const { budgets, accounts } = replicaBudgets(replica, spentBefore);
  const ending = (reservation: Reservation) => {
    const { settle } = withRow(reservation, accounts, [dollarADay], noon);
    return (cost: number): void => settle(cost);
  };
  return {
    budgets,
    accounts,
    /** Returns the end of a request. Undefined if the shared budget is too small. */
    reserve: async (dollars: number) => {
      const { promise, resolve, reject } = Promise.withResolvers<Reservation>();
      const demand = budgets.request([dollarADay], certain(dollars), noon, resolve);
      limiter.take({ ...nothing, budgets: demand }).catch(reject);
      return promise.then(ending, (error: GatewayError) => {
        expect(error.kind).toBe("over_budget");
        return undefined;
      });
    },
    /** While Redis is unreachable. */
    reserveHere: (dollars: number) =>
      ending(reserveIn(budgets, [dollarADay], certain(dollars), noon)),
  };
}

rateLimitCounterLaws(
  "shared",
  (now) => {
    const replica = oneReplica(now);
    return { counters: countersOf(replica), limiter: replica.limiter };
  },
  testWithRedis,
);

accountLaws("shared", () => oneReplica(() => 0).limiter, testWithRedis);

testWithRedis("three replicas together admit exactly the limit", async () => {
  const now = 0;
  const replicas = testReplicas(3, { redis, now: () => now });
  const scopes = replicas.map((replica) => scopeOf(replica, 1000));
  expect(await sendAll(replicas, scopes, now)).toBe(1000);
});

testWithRedis(
  "three replicas together have exactly the limit of slots, and slots of a dead replica are released",
  async () => {
    let now = 0;
    const replicas = testReplicas(3, { redis, now: () => now });
    const slots = replicas.map(tenSlotsOf);
    const acquireAll = async (from: number): Promise<number> => {
      let acquired = 0;
      for (let isAnyFree = true; isAnyFree; ) {
        isAnyFree = false;
        for (let at = from; at < 3; at++) {
          if (!(await acquire(replicas[at] as TestReplica, slots[at] as ConcurrencySlots)))
            continue;
          acquired++;
          isAnyFree = true;
        }
      }
      return acquired;
    };
    expect(await acquireAll(0)).toBe(10);
    // The requests of the living replicas run for longer than a lease.
    for (now = leaseMs / 3; now < leaseMs; now += leaseMs / 3) {
      for (const { limiter } of replicas.slice(1)) limiter.renew();
      await Promise.all(replicas.map((replica) => replica.settle()));
    }
    expect(await acquireAll(1)).toBe(slots[0]?.inFlight ?? 0);
  },
);

testWithRedis("a hundred replicas stay within a limit, with one call of each request", async () => {
  const [count, stepMs, seconds, limitPerSecond, requestsPerSecond] = [100, 20, 4, 20, 800];
  let now = 0;
  const replicas = testReplicas(count, { redis, now: () => now });
  const scopes = replicas.map((replica) => scopeOf(replica, limitPerSecond * 60));
  const random = randomFrom(17);
  let [admitted, sent] = [0, 0];
  for (; now < seconds * 1000; now += stepMs) {
    const arrivals = Array.from({ length: (requestsPerSecond * stepMs) / 1000 }, async () => {
      const at = Math.floor(random() * count);
      const [replica, scope] = [replicas[at] as TestReplica, scopes[at] as LimitScope];
      sent++;
      return sendAll([replica], [scope], now, 1);
    });
    admitted += sum(await Promise.all(arrivals));
    // The bucket is full at first: never more than the full bucket and its refill is admitted.
    expect(admitted).toBeLessThanOrEqual(limitPerSecond * (60 + (now + 1) / 1000));
  }
  expect(admitted).toBe(Math.floor(limitPerSecond * (60 + (now - stepMs) / 1000)));
  expect(sum(replicas.map(({ calls }) => calls))).toBe(sent);
});

testWithRedis("a burst of requests within limit and budget is admitted", async () => {
  const limits = "limits: { requestsPerMinute: 100000, tokensPerMinute: 1000000 }";
  await using gateways = await startGateways({
    count: 1,
    key: `${limits}, budget: { day: 1000 }`,
    redisUrl: server.url,
    fakeUrl: fake.url,
  });
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
  const replicas = testReplicas(3, { redis, now: () => 0 }).map((replica) =>
    openBudgets(replica, () => spentBefore),
  );
  let cents = 25;
  const spendAll = async ({ reserve }: TestBudgets): Promise<void> => {
    for (let end = await reserve(0.01); end; end = await reserve(0.01)) {
      cents++;
      end(0.01);
    }
  };
  await Promise.all(replicas.map(spendAll));
  expect(cents).toBe(100);
  for (const { reserve, budgets } of replicas) {
    expect(await reserve(0.01)).toBeUndefined();
    await budgets.read([dollarADay], noon);
    expect(budgets.status(dollarADay, noon)[0]).toMatchObject({ spent: 1, reserved: 0 });
  }
});

testWithRedis(
  "what a replica had spent that never returns counts for a day, and is then reported and forgotten",
  async () => {
    let now = 1000;
    const forgotten: unknown[] = [];
    const replicas = testReplicas(2, {
      redis,
      now: () => now,
      onForgotten: (amount) => forgotten.push(amount),
    });
    const [gone, other] = replicas.map((replica) => openBudgets(replica)) as TestBudgets[];
    (await gone?.reserve(0.6))?.(0.6);
    await replicas[0]?.settle();
    // The budget belongs to a day; here its requests arrive at the same time, whatever the clock is.
    now += forgetEndedMs;
    expect(await other?.reserve(0.5)).toBeUndefined();
    expect(forgotten).toEqual([]);
    now += 1000;
    expect(await other?.reserve(0.5)).toBeDefined();
    expect(forgotten).toEqual([{ replica: "0", dollars: 0.6 }]);
  },
);

testWithRedis("what Redis has lost returns with the next renewal", async () => {
  const replicas = testReplicas(2, { redis, now: () => 0 });
  const [one, other] = replicas.map((replica) => openBudgets(replica)) as [
    TestBudgets,
    TestBudgets,
  ];
  for (const { limiter } of replicas) limiter.renew();
  (await one.reserve(0.5))?.(0.5);
  const open = await other.reserve(0.25);
  await Promise.all(replicas.map((replica) => replica.settle()));
  await server.command("FLUSHALL");
  for (const { limiter } of replicas) limiter.renew();
  await Promise.all(replicas.map((replica) => replica.settle()));
  // Each has learned that its renewal was lost, and has sent all of its budgets.
  await Promise.all(replicas.map((replica) => replica.settle()));
  expect(await one.reserve(0.26)).toBeUndefined();
  expect(await other.reserve(0.26)).toBeUndefined();
  open?.(0);
  await replicas[1]?.settle();
  expect(await one.reserve(0.5)).toBeDefined();
});

testWithRedis(
  "what replicas have spent during an outage of Redis counts when it returns, before the ledger has it",
  async () => {
    let isReachable = true;
    const options = { redis, now: () => 0, isReachable: () => isReachable };
    const replicas = testReplicas(3, options);
    const budgets = replicas.map((replica) => openBudgets(replica));
    for (const { reserve } of budgets) (await reserve(0.1))?.(0.1);
    await Promise.all(replicas.map((replica) => replica.settle()));
    isReachable = false;
    for (const { reserveHere } of budgets) reserveHere(0.2)(0.2);
    isReachable = true;
    for (const { limiter } of replicas) limiter.recover();
    await Promise.all(replicas.map((replica) => replica.settle()));
    expect(await budgets[0]?.reserve(0.11)).toBeUndefined();
    expect(await budgets[1]?.reserve(0.1)).toBeDefined();
  },
);

testWithRedis(
  "a cost is counted once if Redis executes its report only after a pause",
  async () => {
    const paused = await startRedis();
    const connection = new RedisConnection({ url: paused.url });
    await connection.attempted();
    const isReachable = (): boolean => connection.isAvailable;
    const [replica] = testReplicas(1, { redis: connection, now: () => 0, isReachable });
    if (!replica) throw new Error("no replica");
    const { reserve, budgets } = openBudgets(replica);
    const end = await reserve(0.4);
    paused.pause();
    end?.(0.4);
    await until(() => !isReachable());
    paused.resume();
    await until(isReachable);
    replica.limiter.recover();
    await replica.settle();
    (await reserve(0.6))?.(0);
    expect(budgets.status(dollarADay, noon)).toMatchObject([{ spent: 0.4 }]);
    connection.close();
    await paused.stop();
  },
);

testWithRedis(
  "in each outage of Redis, a replica gets its share of what was available at its last reply",
  async () => {
    let isReachable = true;
    const options = { redis, now: () => 0, isReachable: () => isReachable };
    const [first, second] = testReplicas(2, options) as [TestReplica, TestReplica];
    const [own, others] = [openBudgets(first), openBudgets(second)];
    const spendInOutage = (): number => {
      for (let cents = 0; ; cents++) {
        try {
          own.reserveHere(0.01)(0.01);
        } catch {
          return cents;
        }
      }
    };
    // One request in the first outage.
    isReachable = false;
    own.reserveHere(0.01)(0.01);
    isReachable = true;
    first.limiter.recover();
    await first.settle();
    (await own.reserve(0.59))?.(0.59);
    await first.settle();
    (await others.reserve(0.2))?.(0.2);
    await second.settle();
    (await own.reserve(0.01))?.(0);
    // Both replicas know that 0.8 dollars are spent.
    isReachable = false;
    expect(spendInOutage()).toBe(10);
    isReachable = true;
    first.limiter.recover();
    await first.settle();
    const end = await own.reserve(0.01);
    end?.(0);
    isReachable = false;
    expect(spendInOutage()).toBe(5);
  },
);

testWithRedis(
  "gateways with Redis and ledgers of their own count their budgets apart",
  async () => {
    await server.command("FLUSHALL");
    await using gateways = await startGateways({
      count: 2,
      key: "limits: { requestsPerMinute: 100 }, budget: { day: 5 }",
      redisUrl: server.url,
      fakeUrl: fake.url,
    });
    for (const at of [0, 1]) {
      const body = { model: embeddingModel, input: `own budget ${at}` };
      expect((await gateways.at(at).post("/v1/embeddings", body)).status).toBe(200);
    }
    expect(await server.command("KEYS", "vexel:budget*")).toEqual([]);
  },
);

testWithRedis("a replica forgets the slots of keys that have no requests any more", async () => {
  const [replica, other] = testReplicas(2, { redis, now: () => 0 }) as [TestReplica, TestReplica];
  const full = tenSlotsOf(other);
  for (let request = 0; request < 9; request++) await acquire(other, full);
  const slots = tenSlotsOf(replica);
  const lease = await acquire(replica, slots);
  expect(await acquire(replica, slots)).toBeUndefined();
  replica.limiter.renew();
  expect(replica.limiter.leases).toBe(1);
  lease?.release();
  replica.limiter.renew();
  expect(replica.limiter.leases).toBe(0);
});

testWithRedis("a replica with all slots leaves other replicas their share", async () => {
  let now = 0;
  const [a, b] = testReplicas(2, { redis, now: () => now }) as [TestReplica, TestReplica];
  const [busy, waiting] = [tenSlotsOf(a), tenSlotsOf(b)];
  const leases: (SlotLease | undefined)[] = [];
  for (let request = 0; request < 10; request++) leases.push(await acquire(a, busy));
  waiting.waiting++;
  expect(await acquire(b, waiting)).toBeUndefined();
  // Both replicas ask for slots. Each request that ends on the busy replica is followed by another one, if it gets one.
  for (let round = 0; round < 10; round++) {
    now += 100;
    leases.shift()?.release();
    leases.push(await acquire(a, busy));
    await acquire(b, waiting);
  }
  expect(busy.inFlight + waiting.inFlight).toBe(10);
  expect(waiting.inFlight).toBeGreaterThanOrEqual(5);
});

testWithRedis(
  "while Redis is unavailable, each replica has its share of the remaining limit, and afterwards the shared limit applies as it was",
  async () => {
    let isReachable = true;
    const replicas = testReplicas(3, { redis, now: () => 0, isReachable: () => isReachable });
    const scopes = replicas.map((replica) => scopeOf(replica, 900));
    expect(await sendAll(replicas, scopes, 0, 100)).toBe(300);
    isReachable = false;
    const shares: number[] = [];
    for (const at of [0, 1, 2])
      shares.push(await sendAll(replicas.slice(at, at + 1), scopes.slice(at, at + 1), 0));
    expect(Math.min(...shares)).toBeGreaterThanOrEqual(200);
    expect(Math.max(...shares)).toBeLessThanOrEqual(300);
    isReachable = true;
    for (const { limiter } of replicas) {
      limiter.recover();
      await limiter.close();
    }
    expect(await sendAll(replicas, scopes, 0)).toBe(600);
  },
);

testWithRedis(
  "after a long outage of Redis, what has refilled meanwhile is available again",
  async () => {
    let [now, isReachable] = [0, false];
    const [replica] = testReplicas(1, { redis, now: () => now, isReachable: () => isReachable });
    if (!replica) throw new Error("no replica");
    const scope = scopeOf(replica, 60);
    for (; now < 3_600_000; now += 1000) expect(take([scope], oneRequest, now)).toBeUndefined();
    isReachable = true;
    replica.limiter.recover();
    await replica.settle();
    // One request each second leaves the bucket almost full.
    expect(await sendAll([replica], [scope], now)).toBeGreaterThanOrEqual(58);
  },
);

testWithRedis("each replica has at least one slot and one request without Redis", async () => {
  const replicas = testReplicas(10, { redis, now: () => 0, isReachable: () => false });
  const scopes = replicas.map((replica) => scopeOf(replica, 3));
  expect(await sendAll(replicas, scopes, 0)).toBe(10);
  const slots = countersOf(replicas[0] as TestReplica).createSlots("key:a");
  slots.limit = 3;
  expect(slots.mayTake).toBe(true);
  leaseOf((replicas[0] as TestReplica).limiter, slots);
  expect(slots.mayTake).toBe(false);
});

testWithRedis("a flush of Redis gives no replica more than was left", async () => {
  const replicas = testReplicas(3, { redis, now: () => 0 });
  const scopes = replicas.map((replica) => scopeOf(replica, 900));
  expect(await sendAll(replicas, scopes, 0, 200)).toBe(600);
  // What a replica knows is the state of its last call.
  for (const [at, { limiter }] of replicas.entries())
    await limiter.read([scopes[at] as LimitScope]);
  await server.command("FLUSHALL");
  expect(await sendAll(replicas, scopes, 0)).toBe(300);
});

testWithRedis(
  "three gateways together admit exactly the limits of a key, and an outage of Redis is in health, events and log until it ends",
  async () => {
    await using gateways = await startGateways({
      key: "limits: { requestsPerMinute: 10 }, budget: { day: 5 }",
      redisUrl: server.url,
      fakeUrl: fake.url,
    });
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
  await using gateways = await startGateways({
    key: "limits: { requestsPerMinute: 1000, tokensPerMinute: 100000, concurrent: 8 }",
    settings: { VEXEL_ADMIN_TOKEN: adminToken },
    redisUrl: server.url,
    fakeUrl: fake.url,
  });
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
