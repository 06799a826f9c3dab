/** Vectors as JSON numbers: exact to the last bit, and printing many does not block other requests. */
import { expect, test } from "bun:test";
import { writeBase64Response, writeInSteps } from "../../server/embeddings/vector-formats.ts";
import { runInSteps } from "../../server/lib/tasks.ts";
import type { Vector } from "../../server/upstream/contract.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, startGateway } from "../harness.ts";

const floats = (seed: number, length: number) =>
  Float32Array.from({ length }, (_, at) => Math.sin(seed * 1000 + at + 1) / 30);
const packed = (vector: Float32Array<ArrayBuffer>) => Buffer.from(vector.buffer).toString("base64");

async function printed(vectors: readonly Vector[]) {
  const chunks = await writeInSteps(
    { vectors },
    "float",
    { model: "m\u00e9", tokens: 7 },
    runInSteps,
  );
  const response = JSON.parse(Buffer.concat(chunks).toString());
  return { response, chunks: chunks.length };
}

test.each([1, 2, 65, 66, 200])("%d vectors are written as one valid response", async (count) => {
  const expected = Array.from({ length: count }, (_, at) => floats(at, 1536));
  const vectors = expected.map((vector, at) => (at % 2 ? packed(vector) : vector));
  const { response } = await printed(vectors);
  for (const entry of response.data) entry.embedding = Float32Array.from(entry.embedding);
  expect(response).toEqual({
    object: "list",
    data: expected.map((embedding, index) => ({ object: "embedding", index, embedding })),
    model: "m\u00e9",
    usage: { prompt_tokens: 7, total_tokens: 7 },
  });
});

test.each([66, 200])(
  "%d vectors in base64 are written in steps as one valid response",
  async (count) => {
    const expected = Array.from({ length: count }, (_, at) => floats(at, 1536));
    const tail = { model: "m\u00e9", tokens: 7 };
    const vectors = expected.map((vector, at) => (at % 2 ? packed(vector) : vector));
    const chunks = await writeInSteps({ vectors }, "base64", tail, runInSteps);
    expect(chunks.length).toBeGreaterThan(1);
    const parts = writeBase64Response({ vectors }, tail);
    const text = Buffer.concat(chunks).toString();
    expect(text).toBe(parts.map(String).join(""));
    expect(JSON.parse(text)).toEqual({
      object: "list",
      data: expected.map((vector, index) => ({
        object: "embedding",
        index,
        embedding: packed(vector),
      })),
      model: "m\u00e9",
      usage: { prompt_tokens: 7, total_tokens: 7 },
    });
  },
);

test("float32 numbers that an upstream sends as JSON numbers have the same text as from the cache", async () => {
  const vector = floats(1, 1536);
  const textOf = async (sent: Vector) =>
    Buffer.concat(
      await writeInSteps({ vectors: [sent] }, "float", { model: "m", tokens: 1 }, runInSteps),
    ).toString();
  expect(await textOf(Array.from(vector))).toBe(await textOf(vector));
  expect(await textOf([-0, 0, 0.5])).toBe(await textOf(Float32Array.of(-0, 0, 0.5)));
});

test("a vector has the same text from the upstream, which sends numbers, as from the cache", async () => {
  const fake = startFake();
  const settings = { VEXEL_CACHE_BYTES: "8000000" };
  const gateway = startGateway({ yaml: configFor(fake.url), settings });
  try {
    const model = "text-embedding-3-small";
    const body = JSON.stringify({
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: Array.from(floats(2, 1536)) }],
      model,
      usage: { prompt_tokens: 2, total_tokens: 2 },
    });
    fake.script({
      response: { status: 200, headers: { "content-type": "application/json" }, body },
    });
    const embed = async () =>
      (
        await gateway.post("/v1/embeddings", { model, input: "an otter", encoding_format: "float" })
      ).text();
    const first = await embed();
    expect(first.length).toBeLessThan(body.length * 0.7);
    expect(await embed()).toBe(first);
    expect(fake.requests).toHaveLength(1);
  } finally {
    await gateway.close();
    fake.close();
  }
});

test("numbers are printed as float32, and zero keeps its sign", async () => {
  const { response } = await printed([[0.1, -0, 0, 0.1234567890123, 3], Float32Array.of(-0, 0.1)]);
  expect(response.data[0].embedding).toEqual([0.1, -0, 0, 0.12345679, 3]);
  expect(Object.is(response.data[0].embedding[1], -0)).toBe(true);
  expect(Object.is(response.data[1].embedding[0], -0)).toBe(true);
  expect(response.data[1].embedding[1]).toBe(0.1);
});

test("a response whose numbers have more than float32 precision is passed on unchanged", async () => {
  const fake = startFake();
  const gateway = startGateway({ yaml: configFor(fake.url), settings: { VEXEL_CACHE_BYTES: "0" } });
  try {
    const model = "text-embedding-3-small";
    const body = JSON.stringify({
      object: "list",
      data: [
        { object: "embedding", index: 0, embedding: Array.from(floats(2, 1536), (n) => n / 3) },
      ],
      model,
      usage: { prompt_tokens: 2, total_tokens: 2 },
    });
    fake.script({
      response: { status: 200, headers: { "content-type": "application/json" }, body },
    });
    const response = await gateway.post("/v1/embeddings", {
      model,
      input: "an otter",
      encoding_format: "float",
    });
    expect(await response.text()).toBe(body);
  } finally {
    await gateway.close();
    fake.close();
  }
});

test("while very many vectors are printed, other requests are served", async () => {
  const vectors = Array.from({ length: 400 }, (_, at) => floats(at, 1536));
  let turns = 0;
  const counting = setInterval(() => turns++, 0);
  const { chunks } = await printed(vectors);
  clearInterval(counting);
  expect(chunks).toBe(7);
  expect(turns).toBeGreaterThan(2);
});
