/** Vectors in numbers: each to the last bit, in one answer, and nobody else waits while very many are printed. */
import { expect, test } from "bun:test";
import { inNumbers } from "../../server/embeddings/write-vectors.ts";
import type { Vector } from "../../server/upstream/contract.ts";

const floats = (seed: number, length: number) =>
  Float32Array.from({ length }, (_, at) => Math.sin(seed * 1000 + at + 1) / 30);
const packed = (vector: Float32Array<ArrayBuffer>) => Buffer.from(vector.buffer).toString("base64");

async function printed(vectors: readonly Vector[]) {
  const pieces = await inNumbers({ vectors }, { model: "m\u00e9", tokens: 7 });
  const answer = JSON.parse(Buffer.concat(pieces).toString());
  return { answer, pieces: pieces.length };
}

test.each([1, 2, 65, 66, 200])("%d vectors are one answer", async (count) => {
  const wanted = Array.from({ length: count }, (_, at) => floats(at, 1536));
  const vectors = wanted.map((vector, at) => (at % 2 ? packed(vector) : vector));
  const { answer } = await printed(vectors);
  for (const entry of answer.data) entry.embedding = Float32Array.from(entry.embedding);
  expect(answer).toEqual({
    object: "list",
    data: wanted.map((embedding, index) => ({ object: "embedding", index, embedding })),
    model: "m\u00e9",
    usage: { prompt_tokens: 7, total_tokens: 7 },
  });
});

test("numbers that an upstream sends as numbers keep all their digits, and zero keeps its sign", async () => {
  const numbers = [0.1, -0, 0, 1e-300, 3];
  const { answer } = await printed([numbers, Float32Array.of(-0, 0.1)]);
  expect(answer.data[0].embedding).toEqual(numbers);
  expect(Object.is(answer.data[0].embedding[1], -0)).toBe(true);
  expect(Object.is(answer.data[1].embedding[0], -0)).toBe(true);
  expect(answer.data[1].embedding[1]).toBe(0.1);
});

test("while very many are printed, others have their turn", async () => {
  const vectors = Array.from({ length: 400 }, (_, at) => floats(at, 1536));
  let turns = 0;
  const counting = setInterval(() => turns++, 0);
  const { pieces } = await printed(vectors);
  clearInterval(counting);
  expect(pieces).toBe(7);
  expect(turns).toBeGreaterThan(2);
});
