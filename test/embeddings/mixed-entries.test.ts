/** One `input` with strings, token arrays and objects: each entry gives the vector that it gives alone, in order. */
import { beforeEach, describe, expect, test } from "bun:test";
import { closeAfterAll } from "../clean-up.ts";
import { encodeImage } from "../fake-upstream/fake-image.ts";
import { fakeVector, startFake } from "../fake-upstream.ts";
import {
  dataUrl,
  type EmbeddingsBody,
  imageEntry,
  imagePart,
  png,
  startCohere,
  startImageGateway,
  vectorOf,
} from "./multimodal-fixture.ts";

/** In cl100k_base. */
const hello = [15339, 1917];
const hi = [6151];

const [cohere, fake] = [startCohere(), startFake()];
/** Embeds everything, as Google. */
const google = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: async (request) => {
    const { requests = [] } = (await request.json()) as { requests?: unknown[] };
    const embedding = { values: [1, 2] };
    return Response.json({ embedding, embeddings: requests.map(() => embedding) });
  },
});
const modelRow = (id: string, upstream: string, model: string, more = ""): string =>
  `  - { id: ${id}, kind: embedding${more}, targets: [{ upstream: ${upstream}, model: ${model} }] }`;
const gateway = startImageGateway(cohere, {
  upstreams: `
  - { id: openai, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }
  - { id: gemini, kind: gemini, baseUrl: "http://127.0.0.1:${google.port}", apiKey: g-fake }
  - { id: voyage, kind: voyage, baseUrl: "${fake.url}", apiKey: v-fake }`,
  models: [
    modelRow("openai", "openai", "text-embedding-3-small"),
    modelRow("strings-only", "openai", "text-embedding-3-large", ", tokenArrays: refuse"),
    modelRow("gemini", "gemini", "gemini-embedding-2", ", dimensions: 2"),
    modelRow("context", "voyage", "voyage-context-4"),
  ].join("\n"),
  keys: "  - { name: poor, key: sk-poor-0123456789abcdef, budget: { day: 0.0001 } }",
});
closeAfterAll(gateway, fake, google, { close: () => cohere[Symbol.asyncDispose]() });
beforeEach(() => {
  fake.clear();
  cohere.clear();
});

const ask = (model: string, input: unknown, more: object = {}): Promise<Response> =>
  gateway.post("/v1/embeddings", { model, input, ...more });

async function answered(response: Promise<Response>): Promise<EmbeddingsBody> {
  const body = (await (await response).json()) as EmbeddingsBody;
  expect(body.error).toBeUndefined();
  return body;
}

const vectorsIn = ({ data }: EmbeddingsBody): readonly number[][] =>
  data.map(({ embedding }) => embedding);

const refused = async (response: Promise<Response>) => {
  const { status } = await response;
  const { error } = (await (await response).json()) as EmbeddingsBody;
  return [status, error?.param, error?.message];
};

describe("strings, token arrays and images in one request", () => {
  const image = png(1);
  const input = [hello, imageEntry(dataUrl(image)), "a text", hi, { text: "b" }, hello];
  const expected = [
    ["text hello world"],
    [imagePart(image)],
    ["text a text"],
    ["text hi"],
    ["text b"],
    ["text hello world"],
  ].map(vectorOf);

  test.each(["use", "no-store"])("have their vectors in order, cache: %s", async (policy) => {
    const headers = policy === "use" ? {} : { "cache-control": policy };
    const response = await gateway.post("/v1/embeddings", { model: "images", input }, headers);
    expect(response.headers.get("vexel-adapted")).toBe("input");
    const body = (await response.json()) as EmbeddingsBody;
    expect(vectorsIn(body)).toEqual(expected);
    expect(cohere.requests.map(({ texts, inputs }) => texts ?? inputs?.length)).toEqual(
      expect.arrayContaining([expect.arrayContaining(["a text", "hello world", "hi", "b"]), 1]),
    );
  });

  test("share the cached vectors of requests with one kind of entries", async () => {
    expect(vectorsIn(await answered(ask("images", [[...hello], "b"])))).toEqual([
      vectorOf(["text hello world"]),
      vectorOf(["text b"]),
    ]);
    expect(vectorsIn(await answered(ask("images", ["a text", "hi"])))).toEqual([
      vectorOf(["text a text"]),
      vectorOf(["text hi"]),
    ]);
    expect(cohere.requests).toEqual([]);
  });
});

describe("a target that takes token arrays", () => {
  test("gets them unchanged, apart from the strings beside them", async () => {
    const response = await ask("openai", ["one", hello, "two", hi]);
    expect(response.headers.get("vexel-adapted")).toBeNull();
    const body = (await response.json()) as EmbeddingsBody;
    expect(vectorsIn(body).map((vector) => Float32Array.from(vector))).toEqual(
      ["one", hello, "two", hi].map((entry) => fakeVector(entry, 1536)),
    );
    const sent = fake.requests.map(({ json }) => (json as { input: unknown }).input);
    expect(sent).toHaveLength(2);
    expect(sent).toEqual(
      expect.arrayContaining([
        ["one", "two"],
        [hello, hi],
      ]),
    );
    expect(gateway.rows().at(-1)).toMatchObject({ status: 200, inputs: 4, cachedInputs: 0 });
    // Each entry is cached as if it had been sent alone.
    await answered(ask("openai", [hi, "two"]));
    await answered(ask("openai", hello));
    expect(fake.requests).toHaveLength(2);
  });

  test("gets a long list in requests of at most 2,048 entries, in order", async () => {
    const input = Array.from({ length: 2048 }, (_, at) => (at % 2 ? `entry ${at}` : [at + 1000]));
    const body = await answered(ask("openai", input, { dimensions: 4 }));
    expect(vectorsIn(body).map((vector) => Float32Array.from(vector))).toEqual(
      input.map((entry) => fakeVector(entry, 4)),
    );
    const sizes = fake.requests.map(({ json }) => (json as { input: unknown[] }).input.length);
    expect(sizes.toSorted((a, b) => a - b)).toEqual([1024, 1024]);
  });
});

test("concurrent requests get their own vectors, batched and deduplicated across requests", async () => {
  const entry = (at: number) => (at % 3 === 0 ? [at + 5000, at] : `concurrent ${at}`);
  const inputs = Array.from({ length: 40 }, (_, request) =>
    Array.from({ length: 5 }, (__, at) => entry((request * 2 + at) % 60)),
  );
  const bodies = await Promise.all(
    inputs.map((input) => answered(ask("openai", input, { dimensions: 8 }))),
  );
  expect(bodies.map((body) => vectorsIn(body).map((vector) => Float32Array.from(vector)))).toEqual(
    inputs.map((input) => input.map((each) => fakeVector(each, 8))),
  );
  const sent = fake.requests.flatMap(({ json }) => (json as { input: unknown[] }).input);
  expect(sent).toHaveLength(new Set(inputs.flat().map((each) => JSON.stringify(each))).size);
  expect(fake.requests.length).toBeLessThan(2 * inputs.length);
});

test("the older engines path takes strings beside token arrays", async () => {
  const body = await answered(
    gateway.post("/v1/engines/openai/embeddings", { input: ["engine", [1, 2, 3]] }),
  );
  expect(vectorsIn(body).map((vector) => Float32Array.from(vector))).toEqual(
    ["engine", [1, 2, 3]].map((entry) => fakeVector(entry, 1536)),
  );
});

test("the budget reserves strings and token arrays of a model without a price of images", async () => {
  const poor = { authorization: "Bearer sk-poor-0123456789abcdef" };
  const send = (input: unknown) => gateway.post("/v1/embeddings", { model: "openai", input }, poor);
  expect((await send(["affordable", [7, 8]])).status).toBe(200);
  const tokens = Array.from({ length: 8000 }, (_, at) => at);
  expect((await send(["too expensive", tokens])).status).toBe(429);
});

describe("an entry is refused by its index:", () => {
  test.each<[string, string, unknown[], RegExp]>([
    ["an empty token array", "images", ["a", []], /Entry 1 is an empty array/],
    ["a token that is no integer", "images", ["a", [1.5]], /Entry 1 has an element that is not/],
    ["a number", "images", ["a", [1], 5], /Entry 2 is an integer; send strings, arrays of tokens/],
    ["tokens without a text", "images", ["a", "b", [100_257]], /Entry 2 holds .*endoftext/],
    ["tokens for a model that refuses them", "strings-only", ["a", [1]], /takes texts, not tokens/],
    ["a mix for a contextual model", "context", ["a", [1]], /Send entries of one kind/],
  ])("%s", async (_, model, input, message) => {
    expect(await refused(ask(model, input))).toEqual([400, null, expect.stringMatching(message)]);
    expect([...cohere.requests, ...fake.requests]).toEqual([]);
  });

  test("a damaged image that must be converted", async () => {
    const webp = encodeImage({ format: "webp", width: 64, height: 64, shade: 90 });
    const damaged = Buffer.concat([webp.subarray(0, 25), Buffer.alloc(20)]);
    const entry = {
      content: [
        { type: "text", text: "a picture" },
        { type: "image_url", image_url: { url: dataUrl(damaged) } },
      ],
    };
    const fine = { image: dataUrl(png(3)) };
    const input = [fine, [...hello], entry, "a text", { image: dataUrl(damaged) }];
    for (const cache of ["max-age=1", "no-store"]) {
      const [status, param, message] = await refused(
        gateway.post("/v1/embeddings", { model: "gemini", input }, { "cache-control": cache }),
      );
      expect(status, `${message}`).toBe(400);
      expect(["input[2].content[1].image_url", "input[4].image"]).toContain(param as string);
      expect(message).toContain(`'${param}'`);
    }
  });
});
