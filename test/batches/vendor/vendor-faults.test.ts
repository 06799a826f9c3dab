/** Faults around a batch at a vendor: its API fails, its queue is full, the key is revoked, the job ends meanwhile. */
import { afterAll, beforeEach, expect, test } from "bun:test";
import { fakeVector } from "../../fake-upstream/vectors.ts";
import { startGateway } from "../../harness.ts";
import { until } from "../../until.ts";
import { sdkOf } from "../lines.ts";
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
const mateKey = "sk-mate-0123456789abcdef";
const yaml = vendorYaml("openai", vendor.url, {
  model: "batches: vendor",
  key: ", project: one, budget: { total: 1 }",
}).replace(
  "keys:",
  `projects: [{ name: one }]\nkeys:\n  - { name: mate, key: ${mateKey}, project: one }`,
);
const gateway = startGateway({ yaml });
const client = sdk(gateway.url);
const mate = sdkOf(gateway.baseURL, mateKey);
afterAll(async () => {
  await gateway.close();
  vendor.close();
});
beforeEach(() => {
  Object.assign(vendor.control, {
    isReady: true,
    outcome: "completed",
    failure: () => undefined,
    reason: { code: "invalid_model", message: "The account has no access to the model." },
  });
  vendor.batches.length = 0;
  vendor.requests.length = 0;
  vendor.deleted.length = 0;
  vendor.files.clear();
});

const file = ["a", "b", "c"].map((id) => inputLine(id, `text ${id}`)).join("");

/** The vendor fails this often for such a request. */
const failFor = (step: RegExp, status: number, times: number): void => {
  let left = times;
  vendor.control.failure = (request) => (step.test(request) && left-- > 0 ? status : undefined);
};

test("a vendor that fails for a while at each step delays the batch, which is created once", async () => {
  const failures = new Map<RegExp, number[]>([
    [/^POST \/v1\/files$/, [429]],
    [/^POST \/v1\/batches$/, [500]],
    [/^GET \/v1\/batches\/./, [401, 429]],
    [/^GET \/v1\/files\/.*content$/, [404, 500]],
  ]);
  vendor.control.failure = (request) =>
    [...failures].find(([step]) => step.test(request))?.[1].shift();
  const batch = await endOf(client, (await createBatch(client, file)).id);
  expect([...failures.values()].flat()).toEqual([]);
  expect(batch).toMatchObject({
    status: "completed",
    request_counts: { total: 3, completed: 3, failed: 0 },
  });
  expect(vendor.batches).toHaveLength(1);
  // A file that was uploaded is not uploaded again.
  expect(vendor.requests.filter((request) => request === "POST /v1/files")).toHaveLength(2);
  expect([...vendor.files.keys()]).toEqual([]);
});

test("a file that the vendor does not delete does not fail the batch", async () => {
  failFor(/^DELETE/, 500, 10);
  const batch = await endOf(client, (await createBatch(client, file)).id);
  expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 3 } });
  expect(gateway.log()).toContain("vendor-file-not-deleted");
});

test("a batch that does not fit into the vendor's queue is created again when it does", async () => {
  Object.assign(vendor.control, {
    outcome: "failed",
    reason: { code: "token_limit_exceeded", message: "Enqueued token limit reached." },
  });
  const { id } = await createBatch(client, file);
  await until(() => vendor.batches.some(({ state }) => state === "failed"));
  vendor.control.outcome = "completed";
  const batch = await endOf(client, id);
  expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 3, failed: 0 } });
  const names = vendor.batches.map(({ name }) => name);
  expect(names.length).toBeGreaterThan(1);
  expect(new Set(names).size).toBe(names.length);
  expect([...vendor.files.keys()]).toEqual([]);
});

test("a batch that is canceled before the vendor has created it is never created there", async () => {
  failFor(/^POST \/v1\/batches$/, 500, 1000);
  const { id } = await createBatch(client, file);
  await until(() => vendor.requests.includes("POST /v1/batches"));
  await client.batches.cancel(id);
  const batch = await endOf(client, id);
  expect(batch).toMatchObject({
    status: "cancelled",
    request_counts: { total: 3, completed: 0, failed: 3 },
  });
  expect(vendor.batches).toEqual([]);
  expect([...vendor.files.keys()]).toEqual([]);
});

test("the batch of a revoked API key is canceled at the vendor, and its lines name the reason", async () => {
  vendor.control.isReady = false;
  const { id } = await createBatch(client, file);
  await until(() => vendor.batches[0]?.state === "running");
  gateway.reload(yaml.replace(/.*name: test,.*\n/, ""));
  try {
    const batch = await endOf(mate, id);
    expect(batch).toMatchObject({ request_counts: { total: 3, completed: 0, failed: 3 } });
    const results = await resultsOf(mate, batch);
    expect(results.get("a")?.error?.code).toBe("invalid_api_key");
    expect(vendor.batches[0]?.state).toBe("cancelling");
  } finally {
    gateway.reload(yaml);
  }
});

test("the batch of a deleted model is canceled at the vendor, and its lines name the reason", async () => {
  vendor.control.isReady = false;
  const { id } = await createBatch(client, file);
  await until(() => vendor.batches[0]?.state === "running");
  gateway.reload(yaml.replace("id: embedding\n", "id: another\n"));
  try {
    const batch = await endOf(client, id);
    expect(batch).toMatchObject({ request_counts: { total: 3, completed: 0, failed: 3 } });
    const results = await resultsOf(client, batch);
    expect(results.get("a")?.response?.body).toMatchObject({ error: { code: "model_not_found" } });
    expect(vendor.batches[0]?.state).toBe("cancelling");
  } finally {
    gateway.reload(yaml);
  }
});

test("results of a vendor's batch are read after the model's options changed", async () => {
  vendor.control.isReady = false;
  const { id } = await createBatch(client, file);
  await until(() => vendor.batches[0]?.state === "running");
  // The same requests would be written without `encoding_format` now.
  gateway.reload(yaml.replace("apiKey: sk-fake }", "apiKey: sk-fake, base64: false }"));
  try {
    vendor.control.isReady = true;
    const batch = await endOf(client, id);
    expect(batch).toMatchObject({ request_counts: { total: 3, completed: 3, failed: 0 } });
    const results = await resultsOf(client, batch);
    for (const name of ["a", "b", "c"]) {
      const body = results.get(name)?.response?.body as { data: { embedding: number[] }[] };
      const expected = fakeVector(`text ${name}`, vendorModels.openai.dimensions);
      expect(body.data[0]?.embedding[0]).toBeCloseTo(expected[0] as number, 6);
    }
    expect(vendor.batches).toHaveLength(1);
  } finally {
    gateway.reload(yaml);
  }
});
