/** Faults around a batch at a vendor: its API fails, its queue is full, the key is revoked, the job ends meanwhile. */
import { Database } from "bun:sqlite";
import { afterAll, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { RateLimitError } from "openai";
import { refusalOf } from "../../conformance/arrange.ts";
import { fakeTokens, fakeVector } from "../../fake-upstream/vectors.ts";
import { startGateway } from "../../harness.ts";
import { until } from "../../until.ts";
import { line, sdkOf } from "../lines.ts";
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
    [/^POST \/v1\/batches$/, [429]],
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
  await until(() => vendor.files.size === 0);
});

test("a file that the vendor does not delete does not fail the batch, and is deleted again later", async () => {
  failFor(/^DELETE/, 500, 1);
  const batch = await endOf(client, (await createBatch(client, file)).id);
  expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 3 } });
  await until(() => vendor.files.size === 1);
  const [left] = vendor.files.keys();
  const logged = gateway
    .log()
    .split("\n")
    .find((each) => each.includes("vendor-file-not-deleted"));
  expect(logged).toContain(left as string);
  // The time until the next attempt has passed.
  using db = new Database(join(gateway.folder, "jobs.db"));
  await until(() => {
    db.query("UPDATE job_ranges SET waits_until = 0 WHERE job_id = ?").run(batch.id);
    return vendor.files.size === 0;
  });
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
  await until(() => vendor.files.size === 0);
});

test("a batch that is canceled before the vendor has created it is never created there", async () => {
  failFor(/^POST \/v1\/batches$/, 429, 1000);
  const { id } = await createBatch(client, file);
  await until(() => vendor.requests.includes("POST /v1/batches"));
  await client.batches.cancel(id);
  const batch = await endOf(client, id);
  expect(batch).toMatchObject({
    status: "cancelled",
    request_counts: { total: 3, completed: 0, failed: 3 },
  });
  expect(vendor.batches).toEqual([]);
  await until(() => vendor.files.size === 0);
});

const withoutKey = yaml.replace(/.*name: test,.*\n/, "");

test("the batch of a revoked API key is canceled at the vendor, its results are charged, and its other lines name the reason", async () => {
  vendor.control.isReady = false;
  const { id } = await createBatch(client, file);
  await until(() => vendor.batches[0]?.state === "running");
  gateway.reload(withoutKey);
  try {
    const batch = await endOf(mate, id);
    expect(batch).toMatchObject({ request_counts: { total: 3, completed: 1, failed: 2 } });
    const results = await resultsOf(mate, batch);
    expect(results.get("a")?.response?.status_code).toBe(200);
    expect(results.get("b")?.error?.code).toBe("invalid_api_key");
    expect(vendor.batches[0]?.state).toBe("cancelled");
    const rows = gateway.rows().filter(({ requestId }) => requestId.startsWith(id));
    expect(rows).toMatchObject([{ project: "one", status: 200, cost: expect.any(Number) }]);
  } finally {
    gateway.reload(yaml);
  }
});

test("what the batch of a revoked API key may cost stays reserved in the budgets of its project and of its tag", async () => {
  Object.assign(vendor.control, { isReady: false });
  const text = (name: string) => `${name} ${"word ".repeat(800)}`;
  const lineOf = (id: string) =>
    line(id, "/v1/embeddings", { model: "embedding", input: text(id), metadata: { team: "red" } });
  const { price, factor } = vendorModels.openai;
  const cost = (3 * fakeTokens(text("a")) * price * factor) / 1_000_000;
  // Enough for the batch, or for one line of it at the full price, and not for both.
  const total = 1.2 * cost;
  const revoked = (changed: string, limited: string): string =>
    changed.replace("{ name: one }", limited);
  for (const limited of [
    `{ name: one, budget: { total: ${total} } }`,
    `{ name: one, perTag: { "team:red": { budget: { month: ${total} } } } }`,
  ]) {
    vendor.batches.length = 0;
    vendor.control.failure = () => undefined;
    gateway.reload(revoked(yaml, limited));
    const { id } = await createBatch(client, ["a", "b", "c"].map(lineOf).join(""));
    await until(() => vendor.batches[0]?.state === "running");
    // The vendor does not cancel it for now.
    failFor(/cancel$/, 500, 1000);
    gateway.reload(revoked(withoutKey, limited));
    // Longer than it takes each process to read what is reserved.
    for (const end = Date.now() + 1500; Date.now() < end; await Bun.sleep(250)) {
      const input = text(`now ${Date.now()}`);
      const request = mate.embeddings.create({
        ...{ model: "embedding", input },
        ...({ metadata: { team: "red" } } as object),
      });
      expect(await refusalOf(request, RateLimitError)).toMatchObject({
        code: "insufficient_quota",
      });
    }
    vendor.control.failure = () => undefined;
    await endOf(mate, id);
  }
  gateway.reload(yaml);
});

const expired = yaml.replace("budget: { total: 1 }", "$&, expires: 2020-01-01T00:00:00Z");

test.each([
  ["was revoked", withoutKey],
  ["has expired", expired],
])(
  "a vendor's batch that ended after its API key %s is delivered and charged to the key and its project",
  async (_, changed) => {
    expect(changed).not.toBe(yaml);
    vendor.control.isReady = false;
    const { id } = await createBatch(client, file);
    await until(() => vendor.batches[0]?.state === "running");
    // The vendor has ended it when the gateway asks again.
    vendor.batches[0]!.state = "completed";
    gateway.reload(changed);
    try {
      const batch = await endOf(mate, id);
      expect(batch).toMatchObject({ request_counts: { total: 3, completed: 3, failed: 0 } });
      const rows = gateway.rows().filter(({ requestId }) => requestId.startsWith(id));
      expect(rows).toHaveLength(3);
      for (const row of rows) {
        expect(row).toMatchObject({ keyId: "file:test", project: "one", status: 200 });
        expect(row.cost).toBeGreaterThan(0);
      }
    } finally {
      gateway.reload(yaml);
    }
  },
);

test("the batch of a deleted model is canceled at the vendor, and its lines name the reason", async () => {
  vendor.control.isReady = false;
  const { id } = await createBatch(client, file);
  await until(() => vendor.batches[0]?.state === "running");
  gateway.reload(yaml.replace("id: embedding\n", "id: another\n"));
  // Ten minutes pass, in which another replica may know the model.
  using db = new Database(join(gateway.folder, "jobs.db"));
  db.query("UPDATE job_ranges SET phase_since = phase_since - 600000 WHERE job_id = ?").run(id);
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

test("results of a vendor's batch are delivered and charged as sent, whatever the prices and upstreams are now", async () => {
  vendor.control.isReady = false;
  const { id } = await createBatch(client, file);
  await until(() => vendor.batches[0]?.state === "running");
  const target = "{ upstream: vendor, model: text-embedding-3-small }";
  gateway.reload(
    yaml
      .replace(target, "{ upstream: other, model: text-embedding-3-small, price: { input: 1000 } }")
      .replace(
        "models:\n",
        '  - { id: other, kind: openai, apiKey: sk-other, baseUrl: "http://127.0.0.1:1/v1" }\nmodels:\n',
      ),
  );
  try {
    vendor.control.isReady = true;
    const batch = await endOf(client, id);
    expect(batch).toMatchObject({ request_counts: { total: 3, completed: 3, failed: 0 } });
    const rows = gateway.rows().filter(({ requestId }) => requestId.startsWith(id));
    const { price, factor } = vendorModels.openai;
    for (const row of rows) {
      expect(row).toMatchObject({ upstream: "vendor" });
      expect(row.cost).toBeCloseTo(((row.inputTokens ?? 0) * price * factor) / 1_000_000, 8);
    }
    // The results were known at one time, which is that of each row.
    expect(new Set(rows.map(({ at }) => at)).size).toBe(1);
    expect(rows.map(({ requestId }) => requestId).sort()).toEqual(
      [0, 1, 2].map((n) => `${id}-${n}`),
    );
  } finally {
    gateway.reload(yaml);
  }
});
