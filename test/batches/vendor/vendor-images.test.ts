/** Images that run in batches of OpenAI: at its price, delivered once, and never paid for twice. */
import { afterAll, beforeEach, expect, test } from "bun:test";
import type { FakeResult } from "../../fake-upstream/batches/fake-batch.ts";
import { startFakeBatches } from "../../fake-upstream/batches/fake-batches.ts";
import { fakeImage } from "../../fake-upstream/fake-image.ts";
import { startGateway, testKey } from "../../harness.ts";
import { until } from "../../until.ts";
import { line, uploadLines } from "../lines.ts";
import { endOf, resultsOf, sdk, type VexelBatch } from "./vendor-fixture.ts";

interface VendorLine {
  readonly custom_id: string;
  readonly url: string;
  readonly body: { readonly prompt: string; readonly n?: number; readonly model: string };
}

const base64 = (prompt: string, at: number): string =>
  Buffer.from(fakeImage(prompt, at, { format: "png", width: 64, height: 64 })).toString("base64");

function resultOf({ custom_id: id, body }: VendorLine): FakeResult {
  const { prompt, n = 1 } = body;
  if (prompt.startsWith("bad"))
    return {
      id,
      status: 400,
      body: { error: { message: "Your request was rejected.", code: "moderation_blocked" } },
    };
  const data = Array.from({ length: n }, (_, at) => ({ b64_json: base64(prompt, at) }));
  return { id, status: 200, body: { created: 1, data } };
}

let sent: VendorLine[] = [];
const vendor = startFakeBatches("openai", (file) => {
  sent = file
    .trimEnd()
    .split("\n")
    .map((text) => JSON.parse(text) as VendorLine);
  return sent.map(resultOf);
});
const price = 0.04;
const yaml = `
upstreams:
  - { id: vendor, kind: openai, baseUrl: "${vendor.url}", apiKey: sk-fake }
models:
  - id: image
    kind: image
    showCost: true
    price: { image: ${price} }
    targets: [{ upstream: vendor, model: gpt-image-2 }]
keys:
  - { name: test, key: ${testKey}, budget: { total: 10 } }
builtInModels: false
`;
const gateway = startGateway({ yaml });
const client = sdk(gateway.url);
afterAll(async () => {
  await gateway.close();
  vendor.close();
});
beforeEach(() => {
  Object.assign(vendor.control, {
    isReady: true,
    partial: 1,
    alter: (results: unknown) => results,
    losesResponse: false,
    outcome: "completed",
  });
  vendor.batches.length = 0;
  vendor.requests.length = 0;
  vendor.files.clear();
});

const inputLine = (id: string, prompt = `an otter ${id}`, more = {}): string =>
  line(id, "/v1/images/generations", { model: "image", prompt, ...more });

const create = async (text: string, execution: string): Promise<VexelBatch> =>
  (await client.batches.create({
    input_file_id: await uploadLines(client, text),
    endpoint: "/v1/images/generations",
    completion_window: "24h",
    metadata: { "vexel.batch": execution },
  })) as VexelBatch;
const run = async (text: string, execution: string) =>
  endOf(client, (await create(text, execution)).id);

const isGeneration = (request: string): boolean => request === "POST /v1/images/generations";

test("images run in one batch of the vendor, and cost its price before and after", async () => {
  const batch = await run(
    inputLine("a") + inputLine("b", "two", { n: 2 }) + inputLine("c", "bad"),
    "vendor",
  );
  expect(batch).toMatchObject({
    status: "completed",
    request_counts: { total: 3, completed: 2, failed: 1 },
  });
  expect(vendor.batches).toHaveLength(1);
  expect(vendor.batches[0]?.request).toMatchObject({ endpoint: "/v1/images/generations" });
  expect(sent[0]).toMatchObject({ url: "/v1/images/generations", body: { model: "gpt-image-2" } });
  expect(vendor.requests.some(isGeneration)).toBe(false);
  await until(() => vendor.files.size === 0);
  const results = await resultsOf(client, batch);
  expect(results.get("a")?.response?.body).toMatchObject({
    data: [{ b64_json: base64("an otter a", 0) }],
  });
  expect(results.get("b")?.response?.body).toMatchObject({
    data: [{ b64_json: base64("two", 0) }, { b64_json: base64("two", 1) }],
  });
  expect(results.get("c")?.response?.status_code).toBe(400);
  expect(batch.vexel.estimated_cost?.now).toBeCloseTo(4 * price, 12);
  expect(batch.vexel.estimated_cost?.vendor).toBeCloseTo(2 * price, 12);
  expect(batch.vexel.cost?.actual).toBeCloseTo(1.5 * price, 12);
  expect(batch.vexel.cost?.now).toBeCloseTo(3 * price, 12);
  const rows = gateway.rows().filter(({ requestId }) => requestId.startsWith(batch.id));
  expect(rows).toHaveLength(3);
  expect(rows.reduce((sum, { cost }) => sum + (cost ?? 0), 0)).toBeCloseTo(1.5 * price, 12);
});

test("a batch of images whose creation has an unknown outcome is found by its name", async () => {
  vendor.control.losesResponse = true;
  const batch = await run(inputLine("a"), "vendor");
  expect(batch).toMatchObject({ status: "completed", request_counts: { completed: 1 } });
  expect(vendor.batches).toHaveLength(1);
});

test("an image that was sent to the vendor is not generated again, whatever becomes of it there", async () => {
  const text = inputLine("a") + inputLine("b");
  vendor.control.alter = (results) => results.slice(0, 1);
  const missing = await run(text, "cheapest");
  expect(missing.request_counts).toEqual({ total: 2, completed: 1, failed: 1 });
  expect((await resultsOf(client, missing)).get("b")?.error?.message).toContain("billed");
  vendor.control.alter = (results) => results;
  vendor.control.outcome = "expired";
  const expired = await run(text, "cheapest");
  expect(expired.request_counts).toEqual({ total: 2, completed: 1, failed: 1 });
  expect((await resultsOf(client, expired)).get("b")?.error?.code).toBe("batch_expired");
  expect(vendor.requests.some(isGeneration)).toBe(false);
});

test("a canceled batch of images keeps the images that the vendor has, and charges them", async () => {
  vendor.control.isReady = false;
  const { id } = await create(inputLine("a") + inputLine("b"), "vendor");
  await until(() => vendor.batches[0]?.state === "running");
  await client.batches.cancel(id);
  const batch = await endOf(client, id);
  expect(batch).toMatchObject({
    status: "cancelled",
    request_counts: { total: 2, completed: 1, failed: 1 },
  });
  expect(batch.vexel.cost?.actual).toBeCloseTo(price / 2, 12);
  expect((await resultsOf(client, batch)).get("b")?.error?.code).toBe("batch_cancelled");
});

test("a line without a known price is refused alone, as its request, if a budget requires a price", async () => {
  const listed = yaml
    .replace(`{ image: ${price} }`, `{ images: { "1024x1024": ${price} } }`)
    .replace("{ total: 10 }", "{ total: 10, unknownPrice: refuse }");
  gateway.reload(listed);
  try {
    const lines = [
      inputLine("a", "an otter a", { size: "1024x1024" }),
      inputLine("unlisted", "an otter", { size: "1536x1024" }),
    ];
    const batch = await run(lines.join(""), "vendor");
    expect(batch.request_counts).toEqual({ total: 2, completed: 1, failed: 1 });
    expect(sent).toHaveLength(1);
    const { response } = (await resultsOf(client, batch)).get("unlisted") ?? {};
    expect(response?.body).toMatchObject({ error: { code: "price_unknown", param: "model" } });
    expect(vendor.requests.some(isGeneration)).toBe(false);
  } finally {
    gateway.reload(yaml);
  }
});
