/** Arithmetic of the embeddings playground. */
import { expect, test } from "bun:test";
import {
  decodeVector,
  neighborsOf,
  normalized,
  similarityMatrix,
  truncated,
} from "../../console/src/features/embeddings/vectors.ts";

const vector = (...values: number[]) => Float32Array.from(values);

test("a base64 vector is decoded to the float32 numbers that were sent", () => {
  const sent = vector(0.1, -2.5, 3e-9);
  const base64 = Buffer.from(sent.buffer).toString("base64");
  expect(decodeVector(base64)).toEqual(sent);
});

test("a normalized vector has length 1, and a zero vector stays zero", () => {
  expect(normalized(vector(3, 4))).toEqual(vector(0.6, 0.8));
  expect(normalized(vector(0, 0))).toEqual(vector(0, 0));
});

test("the similarity matrix holds the cosine of every pair", () => {
  const matrix = similarityMatrix([vector(1, 0), vector(0, 1), vector(0.6, 0.8)]);
  const rounded = [...matrix].map((value) => Math.round(value * 1000) / 1000);
  expect(rounded).toEqual([1, 0, 0.6, 0, 1, 0.8, 0.6, 0.8, 1]);
});

test("neighbors are ordered by similarity and leave out the text itself", () => {
  const matrix = similarityMatrix([
    vector(1, 0),
    normalized(vector(1, 2)),
    normalized(vector(2, 1)),
  ]);
  expect(neighborsOf(matrix, 3, 0).map(({ index }) => index)).toEqual([2, 1]);
});

test("truncated vectors are normalized again, as a model with fewer dimensions returns them", () => {
  expect(truncated(vector(3, 4, 12), 2)).toEqual(vector(0.6, 0.8));
});
