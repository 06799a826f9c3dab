/** Vectors that depend on their neighbors: each document gets the vectors of its own chunks, never those of another. */
import { describe, expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { startGateway } from "../harness.ts";

/** Received by the vendor: the path, and the inputs of each request. */
const received: { path: string; inputs: string[] }[] = [];

/** Late chunking as Jina does it: a vector depends on the input's index and on all inputs. */
const vectorOf = (inputs: readonly string[], at: number): string => {
  const numbers = Float32Array.of(1, Bun.hash.crc32(inputs.join("\n")) % 65_536, at + 1);
  return Buffer.from(numbers.buffer).toString("base64");
};

const entriesOf = (inputs: readonly string[]) =>
  inputs.map((_, index) => ({ object: "embedding", index, embedding: vectorOf(inputs, index) }));

const vendor = Bun.serve({
  port: 0,
  fetch: async (request) => {
    const path = new URL(request.url).pathname;
    const body = (await request.json()) as { input?: string[]; inputs?: string[][]; model: string };
    const inputs = body.input ?? body.inputs?.flat() ?? [];
    received.push({ path, inputs });
    // Long enough for requests that could be batched or coalesced to meet.
    await Bun.sleep(20);
    const data = path.endsWith("/contextualizedembeddings")
      ? [{ object: "list", index: 0, data: entriesOf(inputs) }]
      : entriesOf(inputs);
    return Response.json({ object: "list", data, model: body.model, usage: { total_tokens: 5 } });
  },
});

const baseUrl = `http://127.0.0.1:${vendor.port}/v1`;
const gateway = startGateway({
  settings: { VEXEL_CACHE_BYTES: "1000000", VEXEL_BATCH_WAIT_MS: "25" },
  yaml: `
upstreams:
  - { id: jina, kind: jina, baseUrl: "${baseUrl}", apiKey: k }
  - { id: voyage, kind: voyage, baseUrl: "${baseUrl}", apiKey: k }
  - { id: own, kind: qianfan, baseUrl: "${baseUrl}", apiKey: k }
models:
  - { id: jina, kind: embedding, targets: [{ upstream: jina, model: jina-embeddings-v3 }], dimensions: 3 }
  - { id: context, kind: embedding, targets: [{ upstream: voyage, model: voyage-context-4 }], dimensions: 3 }
  - { id: declared, kind: embedding, contextual: true, targets: [{ upstream: own, model: in-house }], dimensions: 3 }
keys:
  - { name: test, key: sk-test-0123456789abcdef }
`,
});
closeAfterAll(gateway, vendor);

async function embed(model: string, input: readonly string[], options = {}): Promise<string[]> {
  const response = await gateway.post("/v1/embeddings", {
    model,
    input,
    encoding_format: "base64",
    ...options,
  });
  if (!response.ok) throw new Error(await response.text());
  const { data } = (await response.json()) as { data: { embedding: string }[] };
  return data.map(({ embedding }) => embedding);
}

const expected = (inputs: readonly string[]) => inputs.map((_, at) => vectorOf(inputs, at));

const late = { late_chunking: true };
const cases = [
  ["jina with late_chunking", "jina", late],
  ["jina with late_chunking in extra_body", "jina", { extra_body: late }],
  ["voyage-context-4", "context", {}],
  ["a model with contextual: true", "declared", {}],
] as const;

describe.each(cases)("%s", (_, model, options) => {
  test("gives a chunk that occurs in two documents the vector of each document, in sequence", async () => {
    const one = ["A title.", "It is red."];
    const two = ["Another title.", "It is red."];
    expect(await embed(model, one, options)).toEqual(expected(one));
    expect(await embed(model, two, options)).toEqual(expected(two));
    expect(await embed(model, one, options)).toEqual(expected(one));
  });

  test("gives each document its own vectors, also if documents are sent concurrently", async () => {
    const documents = Array.from({ length: 12 }, (_, at) => [`Title ${at % 6}.`, "It is red."]);
    const before = received.length;
    const all = await Promise.all(documents.map((inputs) => embed(model, inputs, options)));
    expect(all).toEqual(documents.map(expected));
    expect(received.length - before).toBe(12);
  });

  test("gives a chunk that occurs twice in a document two vectors", async () => {
    const inputs = ["same", "same", "other"];
    const vectors = await embed(model, inputs, options);
    expect(vectors).toEqual(expected(inputs));
    expect(new Set(vectors).size).toBe(3);
  });
});

test("a document with more chunks than one request takes is refused with 400, without an upstream request", async () => {
  const before = received.length;
  for (const [model, most, options] of [
    ["jina", 512, late],
    ["declared", 16, {}],
  ] as const) {
    const input = Array.from({ length: most + 1 }, (_, at) => `chunk ${at}`);
    const response = await gateway.post("/v1/embeddings", { model, input, ...options });
    const { error } = (await response.json()) as { error: { message: string; param: string } };
    expect(response.status).toBe(400);
    expect(error.param).toBe("input");
    expect(error.message).toContain(`at most ${most} inputs, and this request has ${most + 1}`);
  }
  expect(received.length).toBe(before);
});

test("without late_chunking, requests to the same model are cached and split", async () => {
  const before = received.length;
  await embed("jina", ["alone"], { late_chunking: false });
  await embed("jina", ["alone"], { late_chunking: false });
  expect(received.length - before).toBe(1);
});

test("automatic chunking, which returns more vectors than inputs, is refused without an upstream request", async () => {
  const before = received.length;
  const response = await gateway.post("/v1/embeddings", {
    model: "context",
    input: ["a whole document"],
    enable_auto_chunking: true,
  });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain("enable_auto_chunking");
  expect(received.length).toBe(before);
});
