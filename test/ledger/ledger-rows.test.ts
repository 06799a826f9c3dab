/** Every request with a valid key has one ledger row that says what happened, with null for unknown values. */

import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { readTimeline } from "../../server/request/timeline.ts";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { fakeTokens } from "../fake-upstream.ts";
import { temporaryFolder } from "../harness.ts";
import {
  bearer,
  editForm,
  embeddingModel,
  imageModel,
  startGatewayWithFake,
} from "../http/gateway-fixture.ts";
import { until } from "../until.ts";
import { ledgerRow } from "./ledger-fixture.ts";

const setup = startGatewayWithFake({
  yaml: `  - { name: second, key: sk-second-0123456789abcdef }
`,
});
const { gateway, fake } = setup;
beforeEach(() => fake.clear());
afterAll(() => setup.close());

const rowOf = (response: Response): LedgerRow => {
  const id = response.headers.get("x-request-id");
  const row = gateway.rows().find(({ requestId }) => requestId === id);
  if (!row) throw new Error(`no row for ${id}`);
  return row;
};
const nothingUsed = { inputTokens: null, outputTokens: null, images: null };

describe("the row of a successful request", () => {
  test("has the tokens that the upstream counted and the bytes in and out, for embeddings", async () => {
    const body = JSON.stringify({ model: "embedding-model", input: ["a red boat", "a blue car"] });
    const before = Date.now();
    const response = await gateway.post("/v1/embeddings", body);
    const text = await response.text();
    const row = rowOf(response);
    expect(row).toEqual({
      requestId: response.headers.get("x-request-id")!,
      at: row.at,
      endpoint: "embeddings",
      keyId: "file:test",
      model: "embedding-model",
      upstream: "fake",
      targetModel: "text-embedding-3-large",
      attempts: 1,
      status: 200,
      error: null,
      latencyMs: row.latencyMs,
      inputTokens: fakeTokens("a red boat") + fakeTokens("a blue car"),
      outputTokens: null,
      images: null,
      bytesIn: Buffer.byteLength(body),
      bytesOut: Buffer.byteLength(text),
      cachedInputs: 0,
      upstreamTokens: fakeTokens("a red boat") + fakeTokens("a blue car"),
      cost: ((fakeTokens("a red boat") + fakeTokens("a blue car")) * 0.13) / 1_000_000,
      steps: null,
      project: null,
      estimatedCost: null,
      inputs: 2,
      timeline: row.timeline,
      errorMessage: null,
      replica: row.replica,
      endUser: null,
      tags: null,
      budgets: null,
    });
    const { attempts } = readTimeline(row.timeline);
    expect(attempts).toMatchObject([{ queuedMs: 0, isHedge: false }]);
    expect((attempts[0]?.startMs ?? 0) + (attempts[0]?.durationMs ?? 0)).toBeWithin(
      0,
      row.latencyMs + 0.2,
    );
    expect(row.at).toBeWithin(before, Date.now() + 1);
    expect(row.latencyMs).toBeWithin(0.01, 10_000);
  });

  test("has the number of images and both kinds of tokens, for images", async () => {
    const response = await gateway.post("/v1/images/generations", {
      model: imageModel,
      prompt: "an otter",
      n: 2,
      quality: "low",
    });
    const { usage } = (await response.json()) as { usage: Record<string, number> };
    expect(rowOf(response)).toMatchObject({
      endpoint: "generations",
      model: imageModel,
      status: 200,
      inputTokens: usage.input_tokens!,
      outputTokens: usage.output_tokens!,
      images: 2,
    });
  });

  test("has the bytes of the whole form, for an edit", async () => {
    const written = new Response(editForm());
    const type = written.headers.get("content-type") ?? "";
    const bytes = await written.bytes();
    const response = await fetch(`${gateway.url}/v1/images/edits`, {
      method: "POST",
      headers: { ...bearer, "content-type": type },
      body: bytes,
    });
    const text = await response.text();
    expect(rowOf(response)).toMatchObject({
      endpoint: "edits",
      status: 200,
      images: 1,
      bytesIn: bytes.length,
      bytesOut: Buffer.byteLength(text),
    });
  });

  test("has every byte sent and the usage of the last event, for a stream", async () => {
    const response = await gateway.post("/v1/images/generations", {
      model: imageModel,
      prompt: "an otter",
      stream: true,
      partial_images: 2,
    });
    const text = await response.text();
    const last = JSON.parse(text.trim().split("\ndata: ").at(-1)!) as {
      usage: Record<string, number>;
    };
    expect(rowOf(response)).toMatchObject({
      endpoint: "generations",
      status: 200,
      inputTokens: last.usage.input_tokens!,
      outputTokens: last.usage.output_tokens!,
      images: 1,
      bytesOut: Buffer.byteLength(text),
    });
  });

  test("has the key of the client", async () => {
    const response = await gateway.post(
      "/v1/embeddings",
      { model: embeddingModel, input: "a" },
      { authorization: "Bearer sk-second-0123456789abcdef" },
    );
    expect(rowOf(response).keyId).toBe("file:second");
  });
});

describe("unknown values are null, never 0", () => {
  test.each<[string, string, object, Partial<LedgerRow>]>([
    ["embeddings", "/v1/embeddings", { model: embeddingModel, input: "a" }, nothingUsed],
    [
      "images",
      "/v1/images/generations",
      { model: imageModel, prompt: "a" },
      { ...nothingUsed, images: 1 },
    ],
    [
      "a stream",
      "/v1/images/generations",
      { model: imageModel, prompt: "a", stream: true },
      { ...nothingUsed, images: 1 },
    ],
  ])("if the upstream reports no usage for %s", async (_, path, body, used) => {
    fake.script({ usage: "absent" });
    const response = await gateway.post(path, body);
    await response.text();
    expect(rowOf(response)).toMatchObject({ status: 200, ...used });
  });

  test("if the request was refused before its model was read", async () => {
    const response = await gateway.post("/v1/embeddings", "{");
    const text = await response.text();
    expect(rowOf(response)).toMatchObject({
      model: null,
      upstream: null,
      targetModel: null,
      attempts: 0,
      status: 400,
      error: "invalid_json",
      ...nothingUsed,
      bytesOut: Buffer.byteLength(text),
    });
  });
});

describe("the row of a failed request", () => {
  test("has the upstream and the error, if the upstream failed", async () => {
    fake.script({ fail: "rate-limit" });
    const response = await gateway.post("/v1/embeddings", { model: embeddingModel, input: "a" });
    await response.text();
    expect(rowOf(response)).toMatchObject({
      model: embeddingModel,
      upstream: "fake",
      targetModel: embeddingModel,
      attempts: 1,
      status: 429,
      error: "upstream_rate_limit",
      ...nothingUsed,
    });
  });

  test("has the error in the middle of a stream", async () => {
    fake.script({ stream: "error" });
    const response = await gateway.post("/v1/images/generations", {
      model: imageModel,
      prompt: "a",
      stream: true,
      partial_images: 1,
    });
    await response.text();
    expect(rowOf(response)).toMatchObject({ status: 502, error: "upstream_error", images: null });
  });

  test("has client_closed if the client disconnected", async () => {
    fake.script({ delayMs: 5_000 });
    const before = gateway.rows().length;
    const disconnect = new AbortController();
    const request = fetch(`${gateway.url}/v1/embeddings`, {
      method: "POST",
      headers: { ...bearer, "content-type": "application/json" },
      body: JSON.stringify({ model: embeddingModel, input: "a" }),
      signal: disconnect.signal,
    });
    await fake.arrived(1);
    disconnect.abort();
    await request.catch(() => undefined);
    await until(() => gateway.rows().length > before);
    expect(gateway.rows().at(-1)).toMatchObject({
      status: 499,
      error: "client_closed",
      attempts: 1,
    });
  });
});

test("a hundred concurrent requests have a hundred rows", async () => {
  const before = gateway.rows().length;
  const responses = await Promise.all(
    Array.from({ length: 100 }, (_, at) =>
      gateway.post("/v1/embeddings", { model: embeddingModel, input: `${at}` }),
    ),
  );
  const ids = responses.map(({ headers }) => headers.get("x-request-id") ?? "");
  expect(new Set(ids).size).toBe(100);
  const rows = gateway.rows().slice(before);
  expect(rows.map(({ requestId }) => requestId).sort()).toEqual(ids.sort());
});

test("the space of pruned rows is reused", async () => {
  using folder = temporaryFolder();
  const file = new SqliteLedgerStore({ folder: folder.path, maxBytes: 128 * 1024 });
  const fill = (): number => {
    for (let written = 0; ; written++) {
      try {
        const at = 1_700_000_000_000 + written;
        const requestId = `req_${Bun.randomUUIDv7("hex", at).replaceAll("-", "")}`;
        file.write([ledgerRow(at, { requestId })]);
      } catch (error) {
        expect(String(error)).toContain("full");
        return written;
      }
    }
  };
  const filled = fill();
  expect(filled).toBeGreaterThan(50);
  // A page is reused when all of its rows are gone, and the request ids of a page are random.
  const pruned = Math.floor(filled * 0.75);
  await file.prune(Date.now(), pruned);
  expect(fill()).toBeGreaterThan(pruned / 2);
  file.close();
});
