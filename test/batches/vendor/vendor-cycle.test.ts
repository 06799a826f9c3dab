/** Batches that run in batches of the vendor: every vendor's whole cycle, with the price of its batches. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type OpenAI from "openai";
import type { VendorKind } from "../../fake-upstream/batches/fake-batches.ts";
import { fakeTokens, fakeVector } from "../../fake-upstream/vectors.ts";
import { startGateway, type TestGateway } from "../../harness.ts";
import { until } from "../../until.ts";
import { line } from "../lines.ts";
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

const kinds = ["openai", "voyage", "mistral", "gemini"] as const satisfies readonly VendorKind[];

describe.each(kinds)("at %s", (kind) => {
  const { dimensions, price, factor } = vendorModels[kind];
  const vendor = startVendor(kind);
  let gateway: TestGateway;
  let client: OpenAI;
  beforeAll(() => {
    gateway = startGateway({
      yaml: vendorYaml(kind, vendor.url, { model: "batches: vendor" }),
      // A file of results may be larger than any response.
      maxResponseBytes: 50_000,
    });
    client = sdk(gateway.url);
  });
  afterAll(async () => {
    await gateway.close();
    vendor.close();
  });

  test("the tags and the end user of a line are in the ledger, and not at the vendor", async () => {
    const labels = { metadata: { team: "search" }, safety_identifier: "customer-1" };
    const body = { model: "embedding", input: "a tagged text", ...labels };
    const created = await createBatch(client, line("tagged", "/v1/embeddings", body));
    const batch = await endOf(client, created.id);
    const results = await resultsOf(client, batch);
    expect(results.get("tagged")?.response?.status_code).toBe(200);
    const row = gateway.rows().find(({ requestId }) => requestId.startsWith(batch.id));
    expect(row).toMatchObject({ tags: "team:search", endUser: expect.stringMatching(/^eu_/) });
    vendor.batches.length = 0;
  });

  test("lines run in one batch of the vendor, in any order, and cost its price", async () => {
    const texts = Array.from({ length: 12 }, (_, at) => [`text ${at}`, `another text ${at}`]);
    const file = [
      ...texts.map((input, at) => inputLine(`id-${at}`, input)),
      inputLine("bad", "bad"),
    ];
    const created = await createBatch(client, file.join(""));
    const batch = await endOf(client, created.id);
    expect(batch).toMatchObject({
      status: "completed",
      request_counts: { total: 13, completed: 12, failed: 1 },
    });
    expect(vendor.batches).toHaveLength(1);
    // Neither the texts nor the vectors stay at the vendor.
    await until(() => vendor.files.size === 0);
    expect(vendor.deleted).toContain(vendor.batches[0]?.inputFile as string);
    // Only batches were asked for, and no embeddings.
    expect(vendor.requests.filter((path) => /v1\/embeddings$|:(e|batchE)mbed/.test(path))).toEqual(
      [],
    );
    const results = await resultsOf(client, batch);
    for (const [at, inputs] of texts.entries()) {
      const body = results.get(`id-${at}`)?.response?.body as {
        data: { embedding: number[] }[];
      };
      for (const [index, text] of inputs.entries()) {
        const vector = body.data[index]?.embedding ?? [];
        expect(vector).toHaveLength(dimensions);
        expect(vector[0]).toBeCloseTo(fakeVector(text, dimensions)[0] as number, 6);
      }
    }
    expect(results.get("bad")?.response?.status_code).toBe(400);
    const tokens = texts.flat().reduce((sum, text) => sum + fakeTokens(text), 0);
    const now = (tokens * price) / 1_000_000;
    expect(batch.vexel).toMatchObject({ batch: "vendor" });
    expect(batch.vexel.cost?.actual).toBeCloseTo(now * factor, 7);
    expect(batch.vexel.cost?.now).toBeCloseTo(now, 7);
    const rows = gateway.rows().filter(({ requestId }) => requestId.startsWith(batch.id));
    expect(rows).toHaveLength(13);
    const sum = rows.reduce((cost, row) => cost + (row.cost ?? 0), 0);
    expect(sum).toBeCloseTo(now * factor, 7);
    expect(rows.every(({ upstream }) => upstream === "vendor")).toBe(true);
    expect(batch.vexel.estimated_cost?.now).toBeGreaterThan(0);
    expect(batch.vexel.estimated_cost?.vendor).toBeCloseTo(
      (batch.vexel.estimated_cost?.now ?? 0) * factor,
      12,
    );
  });
});
