/** What is not sent to the vendor: cached inputs, and batches that a budget refuses. */
import { Database } from "bun:sqlite";
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { startGateway } from "../../harness.ts";
import { until } from "../../until.ts";
import {
  createBatch,
  endOf,
  inputLine,
  sdk,
  startVendor,
  vendorModels,
  vendorYaml,
} from "./vendor-fixture.ts";

const vendor = startVendor("voyage");
afterAll(() => vendor.close());

const fileOf = (...ids: readonly string[]): string =>
  ids.map((id) => inputLine(id, [`text ${id}`, "the same text"])).join("");

test("cached lines are answered from the cache, and the others are sent", async () => {
  const gateway = startGateway({
    yaml: vendorYaml("voyage", vendor.url, { model: "batches: cheapest" }),
    settings: { VEXEL_CACHE_BYTES: "100000000" },
  });
  const client = sdk(gateway.url);
  const run = async (...ids: readonly string[]) =>
    endOf(client, (await createBatch(client, fileOf(...ids))).id);
  const sent = (): number | undefined => vendor.batches.at(-1)?.results.length;
  const first = await run("a", "b");
  expect(first.request_counts).toEqual({ total: 2, completed: 2, failed: 0 });
  expect(sent()).toBe(2);
  const second = await run("a", "b", "c");
  expect(second.request_counts).toEqual({ total: 3, completed: 3, failed: 0 });
  expect(vendor.batches).toHaveLength(2);
  expect(sent()).toBe(1);
  expect(second.vexel.cost?.actual).toBeLessThan(first.vexel.cost?.actual ?? 0);
  const third = await run("c", "a");
  expect(third.request_counts).toEqual({ total: 2, completed: 2, failed: 0 });
  expect(third.vexel.cost).toEqual({ actual: 0, now: 0 });
  expect(vendor.batches).toHaveLength(2);
  await gateway.close();
});

test("a budget is reserved at the price of the vendor's batch, and charged when the results arrive", async () => {
  const { price, factor } = vendorModels.voyage;
  const texts = Array.from({ length: 50 }, (_, at) => `text ${at} ${"word ".repeat(200)}`);
  const file = texts.map((text, at) => inputLine(`${at}`, text)).join("");
  const runWith = async (total: number) => {
    const gateway = startGateway({
      yaml: vendorYaml("voyage", vendor.url, {
        model: "batches: vendor",
        key: `, budget: { total: ${total} }`,
      }),
    });
    const client = sdk(gateway.url);
    const batch = await endOf(client, (await createBatch(client, file)).id);
    const rows = gateway.rows();
    await gateway.close();
    return { batch, rows };
  };
  const before = vendor.batches.length;
  const tokens = 50 * 250;
  const now = (tokens * price) / 1_000_000;
  // Less than the estimate: the vendor gets nothing.
  const refused = await runWith((now * factor) / 2);
  expect(refused.batch).toMatchObject({ status: "failed", request_counts: { completed: 0 } });
  expect(refused.batch.errors?.data?.[0]?.message).toContain("You exceeded your current quota");
  expect(vendor.batches).toHaveLength(before);
  // Enough at the price of a batch, and too little for requests now.
  const fits = await runWith(now * factor * 1.2);
  expect(fits.batch).toMatchObject({ status: "completed", request_counts: { completed: 50 } });
  expect(vendor.batches).toHaveLength(before + 1);
  const spent = fits.rows.reduce((sum, { cost }) => sum + (cost ?? 0), 0);
  expect(spent).toBeCloseTo(fits.batch.vexel.cost?.actual ?? 0, 12);
});

test("the budget of a batch at the vendor is reserved until it ends, and then free for the next", async () => {
  const { price, factor } = vendorModels.voyage;
  const file = (name: string): string =>
    Array.from({ length: 50 }, (_, at) =>
      inputLine(`${at}`, `${name} ${at} ${"word ".repeat(200)}`),
    ).join("");
  const estimate = (50 * 250 * price * factor) / 1_000_000;
  const gateway = startGateway({
    yaml: vendorYaml("voyage", vendor.url, {
      model: "batches: vendor",
      key: `, budget: { total: ${estimate * 1.2} }`,
    }),
  });
  const client = sdk(gateway.url);
  const before = vendor.batches.length;
  Object.assign(vendor.control, { isReady: false, partial: 0 });
  const first = await createBatch(client, file("first"));
  await until(() => vendor.batches[before]?.state === "running");
  /** The state of the first batch when the second is created. */
  const states: unknown[] = [];
  vendor.control.failure = (request) => {
    if (request === "POST /v1/batches") states.push(vendor.batches[before]?.state);
    return undefined;
  };
  const second = await createBatch(client, file("second"));
  await until(async () => (await client.batches.retrieve(second.id)).status === "in_progress");
  await client.batches.cancel(first.id);
  const canceled = await endOf(client, first.id);
  expect(canceled).toMatchObject({ status: "cancelled", request_counts: { completed: 0 } });
  vendor.control.isReady = true;
  expect(await endOf(client, second.id)).toMatchObject({
    status: "completed",
    request_counts: { completed: 50, failed: 0 },
  });
  // It did not fit beside the first.
  expect(states).toEqual(["cancelled"]);
  await gateway.close();
});

test("a batch at the vendor reserves the most that it may cost, and its estimate if only that fits", async () => {
  const { price, factor } = vendorModels.voyage;
  const texts = Array.from({ length: 20 }, (_, at) => `${at} ${"word ".repeat(200)}`);
  const file = texts.map((text, at) => inputLine(`${at}`, text)).join("");
  // One token per byte, and two per text.
  const maxTokens = texts.reduce((sum, text) => sum + Buffer.byteLength(text) + 2, 0);
  const tokens = texts.reduce((sum, text) => sum + Math.ceil(Buffer.byteLength(text) / 4), 0);
  const dollars = (count: number): number => (count * price * factor) / 1_000_000;
  const reservedOf = async (total: number) => {
    const gateway = startGateway({
      yaml: vendorYaml("voyage", vendor.url, {
        model: "batches: vendor",
        key: `, budget: { total: ${total} }`,
      }),
    });
    const client = sdk(gateway.url);
    vendor.control.isReady = false;
    const { id } = await createBatch(client, file);
    await until(() => vendor.batches.at(-1)?.state === "running");
    using db = new Database(join(gateway.folder, "jobs.db"));
    const row = db.query<{ reserved: string }, []>("SELECT reserved FROM job_ranges").get();
    vendor.control.isReady = true;
    expect((await endOf(client, id)).request_counts?.completed).toBe(20);
    await gateway.close();
    return JSON.parse(row?.reserved ?? "") as { nanos: number; isLikely?: true };
  };
  const maximum = await reservedOf(dollars(maxTokens) * 1.01);
  expect(maximum.isLikely).toBeUndefined();
  expect(maximum.nanos / 1e9).toBeCloseTo(dollars(maxTokens), 8);
  const likely = await reservedOf(dollars(maxTokens) * 0.9);
  expect(likely.isLikely).toBe(true);
  expect(likely.nanos / 1e9).toBeCloseTo(dollars(tokens), 6);
});
