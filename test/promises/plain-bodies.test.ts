/** The quick way to read what most callers send leads to the same place as the schema. */
import { describe, expect, test } from "bun:test";
import { embeddingsEndpoint, readPlain } from "../../server/gateway/endpoints/embeddings.ts";
import type { Incoming } from "../../server/gateway/incoming.ts";

const endpoint = embeddingsEndpoint({ maxInputs: 4 });
const read = async (body: unknown) =>
  (await endpoint.read({ json: () => Promise.resolve(body) } as Incoming, "a-key")).query;
/** A field that is there and says nothing sends it the long way. */
const bySchema = (body: object) => read({ ...body, user: undefined });

const texts = ["a", " ", "\u0000", "\ud800", "naïve 猫 🐈", "x".repeat(100_000), "null", "[1,2]"];
const encodings = [undefined, "float", "base64"];

const lists = [["a"], ["a", "a"], texts.slice(0, 4)];

describe("texts and no more than their encoding", () => {
  for (const encoding of encodings) {
    test(`are read as the schema reads them (${encoding})`, async () => {
      for (const input of [...texts, ...lists]) {
        const body = { model: "m", input, ...(encoding && { encoding_format: encoding }) };
        const plain = readPlain(body, 4);
        expect(plain).toEqual(await bySchema(body));
        expect(await read(body)).toEqual(plain!);
      }
    });
  }
});

test.each([
  { model: "m", input: "" },
  { model: "", input: "a" },
  { model: 1, input: "a" },
  { model: "m", input: [] },
  { model: "m", input: ["a", ""] },
  { model: "m", input: ["a", 1] },
  { model: "m", input: ["a", null] },
  { model: "m", input: ["a", ["b"]] },
  { model: "m", input: ["a", "b", "c", "d", "e"] },
  { model: "m", input: [1] },
  { model: "m", input: [[1]] },
  { model: "m", input: 7 },
  { model: "m" },
  { input: "a" },
  { model: "m", input: "a", encoding_format: "hex" },
  { model: "m", input: "a", encoding_format: 1 },
  { model: "m", input: "a", user: "u" },
  { model: "m", input: "a", dimensions: 8 },
  { model: "m", input: "a", task: "query" },
  { model: "m", input: "a", anything: true },
])("anything else is left to the schema: %j", (body) => {
  expect(readPlain(body, 4)).toBeUndefined();
});
