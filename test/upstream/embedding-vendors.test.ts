/**
 * Embedding vendors in the formats of their SDKs of November 2026: no text is truncated silently, and each has one
 * vector.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { fromEnvironment } from "../../server/config/sources/environment-source.ts";
import { adapters } from "../../server/upstream/adapters/index.ts";
import type { EmbeddingsQuery, Target } from "../../server/upstream/contract.ts";
import { startGateway, type TestGateway } from "../harness.ts";
import { embeddingsQuery } from "../laws/adapter-responses.ts";

const received: { path: string; body: Record<string, unknown> }[] = [];
/** Whether the vendor reports that it has truncated the text. */
let cuts = false;

const vendor = Bun.serve({
  port: 0,
  fetch: async (request) => {
    const path = new URL(request.url).pathname;
    const body = (await request.json()) as Record<string, unknown>;
    received.push({ path, body });
    const values = [1, 2, Bun.hash.crc32(JSON.stringify(body)) % 1000];
    if (path.endsWith("/embeddings/multimodal"))
      return Response.json({ object: "list", data: { object: "embedding", embedding: values } });
    if (path.endsWith(":predict"))
      return Response.json({
        predictions: [{ embeddings: { values, statistics: { truncated: cuts, token_count: 3 } } }],
      });
    return Response.json({
      embedding: { values },
      truncated: cuts,
      usageMetadata: { promptTokenCount: 3 },
    });
  },
});

let gateway: TestGateway;
beforeAll(() => {
  const baseUrl = `http://127.0.0.1:${vendor.port}`;
  const google = `kind: vertex, baseUrl: "${baseUrl}/v1", project: p, location: global, apiKey: k`;
  gateway = startGateway({
    yaml: `
upstreams:
  - { id: vertex, ${google} }
  - { id: gemini, kind: gemini, baseUrl: "${baseUrl}/v1beta", apiKey: k }
  - { id: ark, kind: volcengine, baseUrl: "${baseUrl}/api/v3", apiKey: k }
models:
  - { id: two, kind: embedding, dimensions: 3, targets: [{ upstream: vertex, model: gemini-embedding-2 }] }
  - { id: five, kind: embedding, dimensions: 3, targets: [{ upstream: vertex, model: text-embedding-005 }] }
  - { id: gemini, kind: embedding, dimensions: 3, targets: [{ upstream: gemini, model: gemini-embedding-2 }] }
  - { id: vision, kind: embedding, dimensions: 3, targets: [{ upstream: ark, model: doubao-embedding-vision-251215 }] }
keys:
  - { name: test, key: sk-test-0123456789abcdef }
`,
  });
});
afterAll(async () => {
  await gateway.close();
  await vendor.stop(true);
});

const embed = (model: string, options: Record<string, unknown> = {}) =>
  gateway.post("/v1/embeddings", { model, input: "a long text", ...options });

describe.each(["two", "five", "gemini"])("a text that Google has cut (%s)", (model) => {
  test("is refused, although the response has a vector", async () => {
    cuts = true;
    const response = await embed(model);
    const { error } = (await response.json()) as { error: { message: string; param: string } };
    expect(response.status).toBe(400);
    expect(error.param).toBe("input");
    expect(error.message).toContain("truncate: true");
  });

  test("is served to a client that allows it, and the response says so", async () => {
    cuts = true;
    const response = await embed(model, { truncate: true });
    expect(response.status).toBe(200);
    expect(response.headers.get("vexel-adapted")).toBe("input");
    cuts = false;
    expect((await embed(model, { truncate: true })).headers.get("vexel-adapted")).toBeNull();
  });
});

test("Vertex gets the truncation option in both of its request formats", async () => {
  cuts = false;
  for (const truncate of [undefined, true]) {
    await embed("two", { truncate });
    expect(received.at(-1)?.body.embedContentConfig).toEqual({ autoTruncate: truncate === true });
    await embed("five", { truncate });
    expect(received.at(-1)?.body.parameters).toEqual({ autoTruncate: truncate === true });
  }
});

test("the Gemini API, which has no such field, gets no `truncate`", async () => {
  cuts = false;
  expect((await embed("gemini", { truncate: true })).status).toBe(200);
  expect(Object.keys(received.at(-1)?.body ?? {})).toEqual(["model", "content"]);
});

test("a vision embedding model gets one request for each text, and gives each its own vector", async () => {
  const before = received.length;
  const input = ["red boat", "blue boat", "green boat"];
  const response = await gateway.post("/v1/embeddings", { model: "vision", input });
  const { data } = (await response.json()) as { data: { embedding: number[] }[] };
  expect(new Set(data.map(({ embedding }) => String(embedding))).size).toBe(3);
  const requests = received.slice(before);
  expect(requests.map(({ path }) => path)).toEqual(
    input.map(() => "/api/v3/embeddings/multimodal"),
  );
  expect(requests.map(({ body }) => body.input)).toEqual(
    input.map((text) => [{ type: "text", text }]),
  );
});

const targetAt = (kind: string, model: string, apiKey = "k"): Target => ({
  model,
  upstream: { id: kind, kind, apiKey, headers: {}, options: { project: "p", location: "global" } },
});
const sent = (target: Target, extraFields: EmbeddingsQuery["extraFields"] = {}) => {
  const request = adapters
    .get(target.upstream.kind)
    ?.embeddings?.toUpstream({ ...embeddingsQuery(1), extraFields }, target);
  return {
    url: request?.url ?? "",
    body: JSON.parse(String(request?.body)) as Record<string, unknown>,
  };
};

test("Nomic is requested to embed all of a long text, unless the client allows truncation", () => {
  const nomic = targetAt("nomic", "nomic-embed-text-v1.5");
  expect(sent(nomic).body.long_text_mode).toBe("mean");
  expect(sent(nomic, { truncate: true }).body.long_text_mode).toBe("truncate");
  expect(sent(nomic, { long_text_mode: "truncate" }).body.long_text_mode).toBe("truncate");
});

test("a Gemini embedding model of a later version uses the endpoint of Google's SDK", () => {
  expect(sent(targetAt("vertex", "gemini-embedding-3")).url).toEndWith(
    "/publishers/google/models/gemini-embedding-3:embedContent",
  );
  expect(sent(targetAt("vertex", "google/gemini-embedding-001")).url).toEndWith(
    "/publishers/google/models/gemini-embedding-001:predict",
  );
  expect(sent(targetAt("vertex", "intfloat/multilingual-e5-small-maas")).url).toEndWith(
    "/publishers/intfloat/models/multilingual-e5-small-maas:embedContent",
  );
});

test("a Voyage key of MongoDB Atlas is sent to MongoDB, and to no other host", () => {
  expect(sent(targetAt("voyage", "voyage-4", "al-0123")).url).toStartWith(
    "https://ai.mongodb.com/",
  );
  expect(sent(targetAt("voyage", "voyage-4", "pa-0123")).url).toStartWith(
    "https://api.voyageai.com/",
  );
  const { upstream } = targetAt("voyage", "voyage-4", "al-0123");
  const probe = adapters.get("voyage")?.probe?.(upstream);
  expect(probe?.url).toStartWith("https://ai.mongodb.com/");
  const { upstreams: provided } = fromEnvironment({ VOYAGE_API_KEY: "al-0123" });
  const fromKey = provided.map((row) => sent({ upstream: row.upstream, model: "voyage-4" }).url);
  expect(fromKey).toEqual(["https://ai.mongodb.com/v1/embeddings"]);
  const own = { ...upstream, baseUrl: "https://proxy.example/v1" };
  expect(sent({ upstream: own, model: "voyage-4" }).url).toStartWith("https://proxy.example/");
});

test("Cohere Embed 5 returns all of its six lengths, at Cohere and at Azure", () => {
  const lengths = [256, 512, 768, 1024, 1536, 2048];
  for (const [kind, model] of [
    ["cohere", "embed-v5.0-pro"],
    ["cohere", "embed-v5.0-fast"],
    ["azure-ai", "Cohere-Embed-V5-Pro"],
  ] as const) {
    const capabilities = adapters.get(kind)?.embeddings?.capabilities(targetAt(kind, model));
    expect(capabilities?.dimensions).toEqual(lengths);
  }
});
