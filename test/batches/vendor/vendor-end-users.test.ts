/** The budgets of end users and tags, and the lines of a vendor's batch. */
import { Database } from "bun:sqlite";
import { afterAll, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { fakeTokens } from "../../fake-upstream/vectors.ts";
import { startGateway } from "../../harness.ts";
import { until } from "../../until.ts";
import { line } from "../lines.ts";
import {
  createBatch,
  endOf,
  resultsOf,
  sdk,
  startVendor,
  vendorModels,
  vendorYaml,
} from "./vendor-fixture.ts";

const vendor = startVendor("openai");
const yaml = vendorYaml("openai", vendor.url, {
  model: "batches: vendor",
  key: ", project: one, budget: { total: 1 }",
}).replace("keys:", "projects: [{ name: one }]\nkeys:");
const gateway = startGateway({ yaml });
const client = sdk(gateway.url);
afterAll(async () => {
  await gateway.close();
  vendor.close();
});
beforeEach(() => {
  vendor.control.isReady = true;
  vendor.batches.length = 0;
});

const { price, factor } = vendorModels.openai;
const text = "text a";
/** Of one line at the vendor. */
const estimate = (fakeTokens(text) * price * factor) / 1_000_000;
/** One token per byte, and two. */
const maximum = ((Buffer.byteLength(text) + 2) * price * factor) / 1_000_000;

const linesOf = (...users: readonly string[]): string =>
  users
    .map((user, at) => line(`${at}`, "/v1/embeddings", { model: "embedding", input: text, user }))
    .join("");

/** Each end user may spend this much in a day. */
const limitTo = (dollars: number): void =>
  gateway.reload(
    yaml.replace("{ name: one }", `{ name: one, perEndUser: { budget: { day: ${dollars} } } }`),
  );

/** What the batch reserves, in nano-dollars. */
function reservedOf(id: string): { readonly nanos: number; readonly isLikely?: boolean } {
  using db = new Database(join(gateway.folder, "jobs.db"));
  const row = db
    .query<{ reserved: string }, [string]>("SELECT reserved FROM job_ranges WHERE job_id = ?")
    .get(id);
  return JSON.parse(row?.reserved ?? "null");
}

test("a line whose end user has no budget left fails alone, and is not sent to the vendor", async () => {
  limitTo(2.1 * estimate);
  const lines = linesOf("ann", "ann", "ann", "bob");
  const batch = await endOf(client, (await createBatch(client, lines)).id);
  expect(batch).toMatchObject({ request_counts: { total: 4, completed: 3, failed: 1 } });
  expect((await resultsOf(client, batch)).get("2")?.error?.code).toBe("insufficient_quota");
  expect(vendor.batches[0]?.results).toHaveLength(3);
});

test("lines of one end user that fit into its budget together are sent together, and reserve their estimate", async () => {
  // The first two of the ten would take all of it with the most that they may cost.
  limitTo(10.5 * estimate);
  expect(3 * maximum).toBeGreaterThan(10.5 * estimate);
  vendor.control.isReady = false;
  const users = Array.from({ length: 10 }, () => "cleo");
  const { id } = await createBatch(client, linesOf(...users));
  await until(() => vendor.batches[0]?.state === "running");
  const { nanos, isLikely } = reservedOf(id);
  expect(isLikely).toBe(true);
  expect(nanos / 1_000_000_000).toBeCloseTo(10 * estimate, 9);
  vendor.control.isReady = true;
  const batch = await endOf(client, id);
  expect(batch).toMatchObject({ request_counts: { total: 10, completed: 10, failed: 0 } });
});

test("a batch waits while another one reserves the budget of its end user, and then runs", async () => {
  limitTo(1.5 * maximum);
  vendor.control.isReady = false;
  const first = await createBatch(client, linesOf("dan"));
  await until(() => vendor.batches[0]?.state === "running");
  // Not even the estimate fits beside the first one.
  const second = await createBatch(client, linesOf(...Array.from({ length: 3 }, () => "dan")));
  await until(() => gateway.log().includes("vendor-batch-delayed"));
  expect(vendor.batches).toHaveLength(1);
  vendor.control.isReady = true;
  expect(await endOf(client, first.id)).toMatchObject({ request_counts: { completed: 1 } });
  expect(await endOf(client, second.id)).toMatchObject({ request_counts: { completed: 3 } });
});
