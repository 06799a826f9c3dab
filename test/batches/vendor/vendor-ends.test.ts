/** The ends of batches at a vendor: canceled, expired, failed, refused, and results that cannot be right. */

import { Database } from "bun:sqlite";
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { BadRequestError } from "openai";
import { refusalOf } from "../../conformance/arrange.ts";
import { startFake } from "../../fake-upstream.ts";
import { startGateway } from "../../harness.ts";
import { until } from "../../until.ts";
import {
  createBatch,
  endOf,
  inputLine,
  resultsOf,
  sdk,
  startVendor,
  vendorModels,
  vendorYaml,
} from "./vendor-fixture.ts";

const vendor = startVendor("openai");
/** It serves requests that run now. */
const direct = startFake({ key: "sk-fake" });
const yaml = vendorYaml("openai", vendor.url, {
  targets: ", { upstream: direct, model: text-embedding-3-small, tier: 1 }",
}).replace(
  "models:",
  `  - { id: direct, kind: openai-compatible, baseUrl: "${direct.url}", apiKey: sk-fake }\nmodels:`,
);
const gateway = startGateway({ yaml });
const client = sdk(gateway.url);
afterAll(async () => {
  await gateway.close();
  vendor.close();
  direct.close();
});
beforeEach(() => {
  Object.assign(vendor.control, {
    isReady: true,
    partial: 1,
    alter: (results: unknown) => results,
    refusal: undefined,
    losesResponse: false,
    outcome: "completed",
  });
  vendor.batches.length = 0;
  vendor.requests.length = 0;
  direct.clear();
});

const file = ["a", "b", "c"].map((id) => inputLine(id, `text ${id}`)).join("");
const atVendor = { "vexel.batch": "vendor" };
const atCheapest = { "vexel.batch": "cheapest" };
const run = async (metadata: Record<string, string>, text = file) =>
  endOf(client, (await createBatch(client, text, metadata)).id);

test("a canceled batch is canceled at the vendor, and keeps the results that the vendor has", async () => {
  vendor.control.isReady = false;
  const { id } = await createBatch(client, file, atVendor);
  await until(() => vendor.batches[0]?.state === "running");
  await client.batches.cancel(id);
  const batch = await endOf(client, id);
  expect(batch).toMatchObject({
    status: "cancelled",
    request_counts: { total: 3, completed: 1, failed: 2 },
  });
  expect(vendor.batches[0]?.state).toBe("cancelled");
  const results = await resultsOf(client, batch);
  expect(results.get("a")?.response?.status_code).toBe(200);
  expect(results.get("b")?.error?.code).toBe("batch_cancelled");
});

test("the deadline of a batch cancels it at the vendor", async () => {
  vendor.control.isReady = false;
  const { id } = await createBatch(client, file, atVendor);
  await until(() => vendor.batches[0]?.state === "running");
  using db = new Database(join(gateway.folder, "jobs.db"));
  db.query("UPDATE jobs SET deadline = ? WHERE id = ?").run(Date.now() - 1, id);
  const batch = await endOf(client, id);
  expect(batch).toMatchObject({ status: "expired", request_counts: { completed: 1, failed: 2 } });
  expect(vendor.batches[0]?.state).toBe("cancelled");
  expect((await resultsOf(client, batch)).get("b")?.error?.code).toBe("batch_expired");
});

describe("a batch that expires at the vendor", () => {
  test("keeps its results, and its other lines get batch_expired", async () => {
    vendor.control.outcome = "expired";
    const batch = await run(atVendor);
    expect(batch).toMatchObject({
      status: "completed",
      request_counts: { completed: 1, failed: 2 },
    });
    expect((await resultsOf(client, batch)).get("c")?.error?.code).toBe("batch_expired");
    expect(direct.requests).toHaveLength(0);
  });
  test("runs its other lines now, if the cheapest way was requested", async () => {
    vendor.control.outcome = "expired";
    const batch = await run(atCheapest);
    expect(batch).toMatchObject({
      status: "completed",
      request_counts: { completed: 3, failed: 0 },
    });
    const [line] = vendor.batches[0]?.results ?? [];
    expect(line).toBeDefined();
    expect(batch.vexel.cost?.actual).toBeLessThan(batch.vexel.cost?.now ?? 0);
  });
});

describe.each([
  ["refuses it", { refusal: "No access to batches." }, /refused|access/],
  ["reports that it failed", { outcome: "failed" }, /no access/],
] as const)("a vendor that %s", (_, control, reason) => {
  test("ends the batch with its reason", async () => {
    Object.assign(vendor.control, control);
    const batch = await run(atVendor);
    expect(batch).toMatchObject({ status: "failed", request_counts: { completed: 0, failed: 3 } });
    expect(batch.errors?.data?.[0]).toMatchObject({
      code: "vendor_batch_failed",
      message: expect.stringMatching(reason),
    });
    expect((await resultsOf(client, batch)).get("a")?.error?.code).toBe("vendor_batch_failed");
    expect(direct.requests).toHaveLength(0);
  });
  test("is no reason to fail, if the cheapest way was requested: the lines run now", async () => {
    Object.assign(vendor.control, control);
    const batch = await run(atCheapest);
    expect(batch).toMatchObject({
      status: "completed",
      request_counts: { completed: 3, failed: 0 },
    });
    expect(direct.requests.length).toBeGreaterThan(0);
  });
});

test("lines that run now, because the vendor's batch failed, may spend what was reserved for it", async () => {
  vendor.control.outcome = "failed";
  const { price, factor } = vendorModels.openai;
  const [lines, tokens] = [40, 250];
  const text = Array.from({ length: lines }, (_, at) =>
    inputLine(`${at}`, `${at} ${"word ".repeat(200)}`),
  ).join("");
  const now = (lines * tokens * price) / 1_000_000;
  // Enough for the lines, and too little for the lines beside the reservation of the batch.
  const total = now * (1 + factor / 2);
  gateway.reload(yaml.replace(/(name: test, key: \S+) }/, `$1, budget: { total: ${total} } }`));
  try {
    expect(await run(atCheapest, text)).toMatchObject({
      status: "completed",
      request_counts: { completed: lines, failed: 0 },
    });
  } finally {
    gateway.reload(yaml);
  }
});

test("lines that run now, because the model has another upstream, may spend what was reserved for the vendor's batch", async () => {
  const { price } = vendorModels.openai;
  const [lines, tokens] = [40, 250];
  const text = Array.from({ length: lines }, (_, at) =>
    inputLine(`${at}`, `${at} ${"word ".repeat(200)}`),
  ).join("");
  // Enough for the lines, and too little for the lines beside the reservation of the batch.
  const total = ((lines * tokens * price) / 1_000_000) * 1.2;
  const budgeted = yaml
    .replace(/name: test, (key: \S+) }/, `name: moved, $1, budget: { total: ${total} } }`)
    .replace("tier: 1 }", `tier: 1, price: { input: ${price} } }`);
  // The file is uploaded, and the batch is not created.
  vendor.control.failure = (request) => (request === "POST /v1/batches" ? 429 : undefined);
  gateway.reload(budgeted);
  try {
    const { id } = await createBatch(client, text, atCheapest);
    await until(() => vendor.requests.includes("POST /v1/batches"));
    gateway.reload(budgeted.replace(/\{ upstream: vendor[^}]*\}, /, ""));
    expect(await endOf(client, id)).toMatchObject({
      status: "completed",
      request_counts: { completed: lines, failed: 0 },
    });
    expect(vendor.batches).toEqual([]);
    await until(() => vendor.files.size === 0);
  } finally {
    vendor.control.failure = () => undefined;
    gateway.reload(yaml);
  }
});

test("a line that runs now, because the vendor's batch failed, is refused if its full price exceeds the budget", async () => {
  vendor.control.outcome = "failed";
  const { price, factor } = vendorModels.openai;
  const [lines, tokens] = [10, 251];
  const text = Array.from({ length: lines }, (_, at) =>
    inputLine(`${at}`, `${at} ${"word ".repeat(200)}`),
  ).join("");
  // Enough for the vendor's batch, and too little for the full price of one of its lines beside the others.
  const total = ((lines * tokens * price) / 1_000_000) * factor * 1.02;
  gateway.reload(yaml.replace(/(name: test, key: \S+) }/, `$1, budget: { total: ${total} } }`));
  try {
    const batch = await run(atCheapest, text);
    // The others may spend what was reserved for it.
    expect(batch.request_counts).toEqual({ total: lines, completed: lines - 1, failed: 1 });
    const { response } = (await resultsOf(client, batch)).get("0") ?? {};
    expect(response).toMatchObject({
      status_code: 429,
      body: { error: { code: "insufficient_quota" } },
    });
  } finally {
    gateway.reload(yaml);
  }
});

test("a missing, a repeated and a wrong result fail their lines only", async () => {
  const ids = ["a", "missing", "repeated", "short", "b"];
  vendor.control.alter = ([first, , repeated, short, last]) => {
    const wrong = structuredClone(short) as { body: { data: { embedding: string }[] } };
    wrong.body.data[0]!.embedding = "AACAPw==";
    return [first, repeated, repeated, { ...short, ...wrong }, last] as never;
  };
  const batch = await run(atVendor, ids.map((id) => inputLine(id, `text ${id}`)).join(""));
  expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 2, failed: 3 } });
  const results = await resultsOf(client, batch);
  expect(results.get("missing")?.error?.message).toContain("no result");
  const bodyOf = (id: string) => JSON.stringify(results.get(id)?.response?.body);
  expect(bodyOf("repeated")).toContain("two results");
  expect(bodyOf("short")).toContain("not usable");
  expect(results.get("b")?.response?.status_code).toBe(200);
});

const invalidLine = (id: string): string =>
  inputLine(id, "x".repeat(4000)).replace('"input"', '"dimensions":0,"input"');

test("an invalid line is not sent to the vendor, and nothing is reserved for it", async () => {
  const batch = await run(atVendor, file + invalidLine("invalid"));
  expect(batch).toMatchObject({
    status: "completed",
    request_counts: { total: 4, completed: 3, failed: 1 },
    vexel: { estimated_cost: (await run(atVendor)).vexel.estimated_cost },
  });
  expect(vendor.batches[0]?.results).toHaveLength(3);
  const { response } = (await resultsOf(client, batch)).get("invalid") ?? {};
  expect(response).toMatchObject({
    status_code: 400,
    body: { error: { message: expect.any(String) } },
  });
});

test("a batch that fails at the vendor fails with its reason, although other lines failed for another", async () => {
  vendor.control.outcome = "failed";
  const invalid = ["1", "2", "3", "4"].map(invalidLine).join("");
  const batch = await run(atVendor, invalid + file);
  expect(batch).toMatchObject({ status: "failed", request_counts: { completed: 0, failed: 7 } });
  expect(batch.errors?.data?.[0]?.message).toContain("no access");
});

test("a batch whose lines are all invalid is completed without a batch at the vendor", async () => {
  const batch = await run(atVendor, invalidLine("one") + invalidLine("two"));
  expect(batch).toMatchObject({
    status: "completed",
    output_file_id: null,
    error_file_id: expect.any(String),
    request_counts: { total: 2, completed: 0, failed: 2 },
    vexel: { estimated_cost: null },
  });
  expect(vendor.batches).toHaveLength(0);
});

test("a batch whose creation has an unknown outcome is found by its name, and not created twice", async () => {
  vendor.control.losesResponse = true;
  const batch = await run(atVendor);
  expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 3 } });
  expect(vendor.batches).toHaveLength(1);
});

test("a batch that no vendor can run, or with an unknown execution, is refused by name", async () => {
  const other = inputLine("a", "x") + inputLine("b", "y").replace('"embedding"', '"another"');
  const unknown = await run(atVendor, other);
  expect(unknown.status).toBe("failed");
  const error = await refusalOf(
    createBatch(client, file, { "vexel.batch": "later" }),
    BadRequestError,
  );
  expect(error.param).toBe("metadata.vexel.batch");
});
