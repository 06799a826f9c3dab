/** The results of a vendor's batch are billed, so each is in the ledger once, whatever happens while it is delivered. */
import { afterAll, beforeEach, expect, test } from "bun:test";
import type OpenAI from "openai";
import { fakeTokens } from "../../fake-upstream/vectors.ts";
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
  type VexelBatch,
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
  `projects: [{ name: one }]\nkeys:\n  - { name: mate, key: ${mateKey}, project: one, showCost: true }`,
);
// Two requests of a key may be in flight at the same time.
const gateway = startGateway({ yaml, settings: { VEXEL_MAX_CONNECTIONS: "4" } });
const client = sdk(gateway.url);
const mate = sdkOf(gateway.baseURL, mateKey);
afterAll(async () => {
  await gateway.close();
  vendor.close();
});
beforeEach(() => {
  Object.assign(vendor.control, { isReady: true, failure: () => undefined });
  vendor.batches.length = 0;
});

const ids = ["a", "b", "c", "d", "e", "f"];
const file = ids.map((id) => inputLine(id, `text ${id}`)).join("");
const { price, factor } = vendorModels.openai;
const estimate = (fakeTokens("text a") * price * factor) / 1_000_000;

const rowsOf = ({ id }: Pick<OpenAI.Batch, "id">) =>
  gateway.rows().filter(({ requestId }) => requestId.startsWith(id));

/** Each line has one ledger row with a charge, and the cost of the batch is their sum. */
function expectCharged(batch: VexelBatch, lines: number): void {
  const rows = rowsOf(batch);
  expect(rows.map(({ requestId }) => requestId).toSorted()).toEqual(
    Array.from({ length: lines }, (_, at) => `${batch.id}-${at}`),
  );
  const charges = rows.map(({ cost, estimatedCost }) => (cost ?? 0) + (estimatedCost ?? 0));
  for (const charge of charges) expect(charge).toBeCloseTo(estimate, 9);
  expect(batch.vexel.cost?.actual).toBeCloseTo(lines * estimate, 9);
}

/** While the results are downloaded, the configuration becomes this one. */
const changeWhileDownloading = (changed: string): void => {
  vendor.control.failure = (request) => {
    if (/^GET \/v1\/files\/.*content$/.test(request)) gateway.reload(changed);
    return undefined;
  };
};

test("results that are delivered while their key has as many requests in flight as it may have are all charged", async () => {
  const batch = await endOf(client, (await createBatch(client, file)).id);
  expect(batch).toMatchObject({ request_counts: { total: 6, completed: 6, failed: 0 } });
  for (const row of rowsOf(batch)) expect(row).toMatchObject({ status: 200, estimatedCost: null });
  expectCharged(batch, 6);
});

test.each([
  ["the model is deleted", yaml.replace("id: embedding\n", "id: another\n")],
  ["the API key loses the model", yaml.replace("name: test,", 'name: test, models: ["none"],')],
])("results are charged by their estimates if %s while they are delivered", async (_, changed) => {
  expect(changed).not.toBe(yaml);
  changeWhileDownloading(changed);
  try {
    const { id } = await createBatch(client, file);
    const batch = await endOf(mate, id);
    expect(batch).toMatchObject({ request_counts: { total: 6, completed: 0, failed: 6 } });
    const { response } = (await resultsOf(mate, batch)).get("a") ?? {};
    expect(response?.body).toMatchObject({ error: { code: "model_not_found" } });
    for (const row of rowsOf(batch))
      expect(row).toMatchObject({ status: 404, error: "model_not_found", cost: null });
    expectCharged(batch, 6);
  } finally {
    gateway.reload(yaml);
  }
});

test("a result that the model's options of now refuse is charged by its estimate", async () => {
  vendor.control.isReady = false;
  const text = line("a", "/v1/embeddings", { model: "embedding", input: "text a", dimensions: 8 });
  const { id } = await createBatch(client, text);
  await until(() => vendor.batches[0]?.state === "running");
  // The vectors of this model always have one length.
  gateway.reload(yaml.replace("model: text-embedding-3-small", "model: text-embedding-ada-002"));
  try {
    vendor.control.isReady = true;
    const batch = await endOf(client, id);
    expect(batch).toMatchObject({ request_counts: { total: 1, failed: 1 } });
    expectCharged(batch, 1);
  } finally {
    gateway.reload(yaml);
  }
});
