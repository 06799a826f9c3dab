/** The budget of jobs: it is reserved from the rows of their ranges, by every process. */
import { afterAll, expect, test } from "bun:test";
import type { Budgets } from "../../server/budgets/budgets.ts";
import type { ChargedRequest } from "../../server/budgets/charge-request.ts";
import { type ChargedLines, createJobBudget } from "../../server/jobs/job-budget.ts";
import { toNanos } from "../../server/lib/nano-dollars.ts";
import { realTimers } from "../../server/lib/timers.ts";
import { noDemand } from "../../server/limits/limiter.ts";
import { RedisConnection } from "../../server/storage/redis/client.ts";
import { leaseMs } from "../../server/storage/redis/limits-scripts.ts";
import type { ReservedRange } from "../../server/storage/sql/stored-job.ts";
import { budgeted, certain, createTestBudgets, noon, refusal } from "../budgets/budgets-fixture.ts";
import { beforeAllWith } from "../programs.ts";
import { replicaBudgets, testReplicas } from "../replicas/test-replicas.ts";
import { type RedisServer, startRedis, testWithRedis } from "../storage/redis-server.ts";
import { until } from "../until.ts";

let server: RedisServer;
let redis: RedisConnection;
beforeAllWith(["redis"], async () => {
  server = await startRedis();
  redis = new RedisConnection({ url: server.url, timeoutMs: 60_000 });
  await redis.attempted();
});
afterAll(async () => {
  redis?.close();
  await server?.stop();
});

const key = budgeted({ total: 1 });
const rowOf = (number: number, dollars: number, version = 0): ReservedRange => ({
  jobId: "batch_1",
  number,
  owner: "project:shop",
  keyId: "ci",
  reserved: { version, nanos: toNanos(dollars), labels: { "tag=art": toNanos(dollars / 2) } },
});
const shop = budgeted({ total: 100 }, "project");
const tag = budgeted({ day: 1 }, "tag", "shop\tart");

/** `rows`: what the database has. */
const budgetOf = (
  budgets: Pick<Budgets, "setJobEntries">,
  rows: readonly ReservedRange[],
  reserve: (request: ChargedRequest) => undefined = () => undefined,
) =>
  createJobBudget({
    charging: { reserve },
    budgets,
    store: { listReserved: async () => [...rows] },
    payerOf: ({ keyId }) => ({ budgets: keyId === "ci" ? [key, shop] : [shop], project: "shop" }),
    endUserOrTagBudgetOf: (project, name) =>
      project === "shop" && name === "tag=art" ? tag : undefined,
    timers: realTimers,
    now: () => noon,
  });

test("the cost of images is reserved as that of images", async () => {
  const operations: string[] = [];
  const payer = {
    caller: { id: "key" },
    model: {},
    operation: "generations",
  } as unknown as ChargedLines;
  const budget = budgetOf(createTestBudgets().budgets, [], ({ operation, record, estimate }) => {
    operations.push(operation, record.endpoint, String(estimate?.dollars));
    return undefined;
  });
  await budget.reserve("vexel-batch_1-0", payer, { dollars: 1 });
  expect(operations).toEqual(["generations", "generations", "1"]);
});

test("what the rows of batches say is reserved, and released when their lines have ended", async () => {
  const { budgets } = createTestBudgets();
  const rows = [rowOf(0, 0.5), rowOf(1, 0.25)];
  const budget = budgetOf(budgets, rows);
  await budget.refresh();
  expect(refusal(() => budgets.reserve([key], certain(0.5), noon)).kind).toBe("over_budget");
  budgets.reserve([key], certain(0.25), noon).release();
  rows.shift();
  await budget.refresh();
  budgets.reserve([key], certain(0.75), noon).release();
  rows.length = 0;
  await budget.refresh();
  budgets.reserve([key], certain(1), noon);
});

test("what the batch of a revoked API key may cost is reserved for its project and its tag", async () => {
  const { budgets } = createTestBudgets();
  const budget = budgetOf(budgets, [{ ...rowOf(0, 0.5), keyId: "revoked" }]);
  await budget.refresh();
  const reserved = [key, shop, tag].map((owner) => budgets.status(owner, noon)[0]?.reserved);
  expect(reserved).toEqual([0, 0.5, 0.25]);
});

test("the budget of a tag has its own share, and charged lines are reserved no longer", async () => {
  const { budgets } = createTestBudgets();
  const rows = [rowOf(0, 1)];
  const budget = budgetOf(budgets, rows);
  const reserved = () => [key, tag].map((owner) => budgets.status(owner, noon)[0]?.reserved);
  await budget.refresh();
  expect(reserved()).toEqual([1, 0.5]);
  const left = { version: 1, nanos: toNanos(0.25), labels: { "tag=art": toNanos(0.125) } };
  budget.onCharged({ job: { id: "batch_1" }, number: 0 }, left);
  await until(() => reserved()[0] === 0.25);
  // The row does not have the charged lines yet.
  await budget.refresh();
  expect(reserved()).toEqual([0.25, 0.125]);
  rows[0] = rowOf(0, 0.1, 2);
  await budget.refresh();
  expect(reserved()).toEqual([0.1, 0.05]);
});

test("of batches whose upper bound does not fit, a budget admits one at a time", async () => {
  const { budgets } = createTestBudgets();
  const row = rowOf(0, 0.25);
  const rows: ReservedRange[] = [{ ...row, reserved: { ...row.reserved, isLikely: true } }];
  const budget = budgetOf(budgets, rows);
  await budget.refresh();
  const estimate = { dollars: 0.5, maxDollars: 2, isCertain: true };
  expect(refusal(() => budgets.reserve([key], estimate, noon)).kind).toBe("over_budget");
  budgets.reserve([key], certain(0.75), noon).release();
  // Its lines run now, each within what is reserved for it.
  rows[0] = { ...row, reserved: { ...row.reserved, version: 1, isLikely: true, runsNow: true } };
  await budget.refresh();
  budgets.reserve([key], estimate, noon);
});

test("many calls at once read the rows twice at most, and the last of them sees every row", async () => {
  const { budgets } = createTestBudgets();
  let reads = 0;
  const rows: ReservedRange[] = [];
  const budget = createJobBudget({
    charging: { reserve: () => undefined },
    budgets,
    store: {
      listReserved: async () => {
        reads++;
        const found = [...rows];
        await Bun.sleep(1);
        return found;
      },
    },
    payerOf: () => ({ budgets: [key] }),
    endUserOrTagBudgetOf: () => undefined,
    timers: realTimers,
    now: () => noon,
  });
  const first = budget.refresh();
  await Promise.resolve();
  rows.push(rowOf(0, 1));
  await Promise.all([first, ...Array.from({ length: 100 }, () => budget.refresh())]);
  expect(reads).toBeLessThanOrEqual(2);
  expect(refusal(() => budgets.reserve([key], certain(0.5), noon)).kind).toBe("over_budget");
});

testWithRedis(
  "the budget of a batch stays reserved when the replica that created it has ended",
  async () => {
    let now = 0;
    const replicas = testReplicas(2, { redis, now: () => now });
    const rows = [rowOf(0, 0.75)];
    const started = replicas.map((replica) => {
      const { budgets } = replicaBudgets(replica);
      const budget = budgetOf(budgets, rows);
      const request = async (dollars: number): Promise<boolean> => {
        const { promise, resolve } = Promise.withResolvers<{ release(): void }>();
        const demand = budgets.request([key], certain(dollars), noon, resolve);
        const scopes = { scopes: [], demand: noDemand };
        const grant = await replica.limiter
          .take({ ...scopes, budgets: demand })
          .catch(() => undefined);
        if (!grant) return false;
        (await promise).release();
        await replica.settle();
        return true;
      };
      return { replica, budget, request };
    });
    const [first, second] = started as [(typeof started)[0], (typeof started)[0]];
    // Both reserve it under the name of the range, so it counts once.
    await first.budget.refresh();
    await second.budget.refresh();
    expect([await second.request(0.25), await second.request(0.5)]).toEqual([true, false]);
    // The first replica renews nothing any more.
    for (let passed = 0; passed < 3 * leaseMs; passed += leaseMs / 3) {
      now += leaseMs / 3;
      second.replica.limiter.renew();
      await second.replica.settle();
    }
    expect([await second.request(0.25), await second.request(0.5)]).toEqual([true, false]);
    rows.length = 0;
    await second.budget.refresh();
    await second.replica.settle();
    expect(await second.request(1)).toBe(true);
  },
);

testWithRedis(
  "of lines on two replicas, those beyond the shared budget of their tag are refused",
  async () => {
    const replicas = testReplicas(2, { redis, now: () => 0 });
    const rich = budgeted({ day: 100 });
    const tag = budgeted({ day: 1 }, "tag", "shop\tteam:art");
    const served: boolean[] = [];
    for (const [at, { limiter }] of [...replicas, ...replicas].entries()) {
      const { budgets } = replicaBudgets({ limiter });
      const demand = budgets.request([rich, tag], certain(0.4), noon, () => undefined);
      const scopes = { scopes: [], demand: noDemand };
      const taking = limiter.take({ ...scopes, budgets: demand });
      served[at] = (await taking.catch(() => undefined)) !== undefined;
    }
    expect(served).toEqual([true, true, false, false]);
  },
);
