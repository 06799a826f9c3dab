/** The budget of lines that a vendor runs. */
import { expect, test } from "bun:test";
import { createVendorBudget, type Payer } from "../../../server/batches/vendor/vendor-budget.ts";
import type { ChargedRequest } from "../../../server/budgets/charge-request.ts";
import { until } from "../../until.ts";

const range = { jobId: "batch_1", number: 0 };
const payer = { caller: { id: "key" }, model: {}, operation: "generations" } as unknown as Payer;

function createBudget(reserve: (request: ChargedRequest) => Promise<void> | undefined) {
  const logged: object[] = [];
  const budget = createVendorBudget({
    charging: { reserve },
    hasEnded: async () => false,
    log: { warn: (event, fields) => void logged.push({ event, ...fields }) },
    now: () => 0,
  });
  return { budget, logged };
}

test("the cost of images is reserved and charged as that of images", async () => {
  const operations: string[] = [];
  const settled: number[] = [];
  const { budget, logged } = createBudget(({ operation, record }) => {
    operations.push(operation, record.endpoint);
    record.cost.reservation = {
      estimate: 0,
      settle: (cost = 0) => void settled.push(cost),
      release: () => undefined,
    };
    return undefined;
  });
  await budget.hold(range, payer, 1);
  budget.charge(range, payer).settle(0.5, 0.25);
  await until(() => settled.length > 0);
  expect(settled).toEqual([0.75]);
  expect(operations).toEqual(Array(4).fill("generations"));
  expect(logged).toEqual([]);
});

test("a cost that cannot be charged is logged", async () => {
  const { budget, logged } = createBudget(() => Promise.reject(new Error("no database")));
  budget.charge(range, payer).settle(0.5);
  await until(() => logged.length > 0);
  expect(logged).toEqual([
    { event: "vendor-line-not-charged", job: "batch_1", dollars: 0.5, reason: "no database" },
  ]);
});
