/** Invalid vectors of upstreams: what can be corrected is, and everything else is rejected. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { InjectedFault } from "../fake-upstream.ts";
import {
  ask,
  type EmbeddingsAnswer,
  expectRefused,
  expectVectors,
  startBroken,
} from "./faults-fixture.ts";

const broken = startBroken();
const { fake } = broken;
beforeEach(() => fake.clear());
afterAll(() => broken.close());

const untrue = {
  status: 502,
  type: "server_error",
  code: "upstream_invalid",
  error: "upstream_invalid",
} as const;
const encodings = ["float", "base64"] as const;
const embedding = (numbers: readonly unknown[] | string, index = 0) => ({
  object: "embedding",
  index,
  embedding: numbers,
});
const answer = (data: unknown, more: object = {}): InjectedFault => ({
  reply: {
    status: 200,
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      object: "list",
      data,
      model: "m",
      usage: { prompt_tokens: 1, total_tokens: 1 },
      ...more,
    }),
  },
});

describe("vectors that are not true are never delivered", () => {
  test.each<[string, InjectedFault, RegExp]>([
    ["one is missing", { vectors: "missing" }, /input 1 has no vector/],
    ["there is one too many", { vectors: "extra" }, /points at no input/],
    ["there are none", { vectors: "none" }, /0 vectors for 2 inputs/],
    ["two have the same index", { vectors: "duplicate-index" }, /same index/],
    ["one holds NaN", { vectors: "nan" }, /not a number/],
    ["one holds the word NaN", { vectors: "nan-literal" }, /not valid JSON/],
    ["one holds infinity", { vectors: "infinite" }, /not a number/],
    ["one is all zeros", { vectors: "zero" }, /all zeros/],
    ["one is shorter than the other", { vectors: "ragged" }, /1535 dimensions instead of 1536/],
    ["one is base64 of no whole number of floats", { vectors: "odd-base64" }, /not base64/],
  ])("%s", async (_, fault, words) => {
    for (const encoding_format of encodings) {
      fake.script(fault);
      const response = await ask.embeddings(broken, { encoding_format });
      const error = await expectRefused(broken, response, untrue);
      expect(error.message).toMatch(words);
    }
  });

  test("all of them are shorter than `dimensions`", async () => {
    fake.script({ vectors: "wrong-dimensions" });
    const response = await ask.embeddings(broken, { model: "sized-vectors", dimensions: 256 });
    const error = await expectRefused(broken, response, untrue);
    expect(error.message).toContain("255 dimensions instead of 256");
  });

  test("all of them are shorter than the configuration says", async () => {
    fake.script({ vectors: "wrong-dimensions" });
    const response = await ask.embeddings(broken, { model: "sized-vectors" });
    const error = await expectRefused(broken, response, untrue);
    expect(error.message).toContain("1535 dimensions instead of 1536");
  });

  test.each<[string, unknown]>([
    ["null in place of an entry", [null]],
    ["a number in place of an entry", [7]],
    ["an entry without a vector", [{ index: 0 }]],
    ["null in place of a vector", [{ index: 0, embedding: null }]],
    ["an object in place of a vector", [{ index: 0, embedding: { 0: 1 } }]],
    ["a vector of nothing", [embedding([])]],
    ["a vector of nothing in base64", [embedding("")]],
    ["a vector of texts", [embedding(["0.1", "0.2"])]],
    ["a vector of vectors", [embedding([[0.1, 0.2]])]],
    ["a vector with a hole", [embedding([0.1, null])]],
    ["a number too large for a float", [embedding([0.1, 1e300])]],
    ["numbers too small for a float", [embedding([1e-300, 1e-300])]],
    ["an index that is a text", [{ ...embedding([1]), index: "0" }]],
    ["an index between two", [{ ...embedding([1]), index: 0.5 }]],
    ["an index below the first", [{ ...embedding([1]), index: -1 }]],
    ["an index that is null beside one that is not", [{ ...embedding([1]), index: null }]],
    ["no list", { 0: embedding([1]) }],
    ["a text", "AAAA"],
    ["nothing", null],
  ])("the answer holds %s", async (_, data) => {
    fake.script(answer(data));
    await expectRefused(broken, await ask.embeddings(broken, { input: "a" }), untrue);
  });

  test.each<[string, string]>([
    ["the alphabet made for addresses", "AACAPwAA_z8-AAA="],
    ["a character in the middle that is none", "AACAP!AAgD8A"],
    ["no padding", "AACAPwAAgD8"],
    ["padding in the middle", "AACAPw==AACAPw=="],
    ["a line break", "AACA\nPw=="],
    ["a space at the end", "AACAPw== "],
    ["something else", "not base64 at all"],
    ["an emoji", "😀AACAPw=="],
  ])("base64 has %s, which a strict client could not read", async (_, text) => {
    for (const encoding_format of encodings) {
      fake.script(answer([embedding(text)]));
      const response = await ask.embeddings(broken, { input: "a", encoding_format });
      await expectRefused(broken, response, untrue);
    }
  });
});

describe("vectors that are true are delivered, however they came", () => {
  test.each<[string, InjectedFault]>([
    ["in another order, with the right index", { vectors: "shuffled" }],
    ["without an index, in order", { vectors: "no-index" }],
    ["as numbers, although base64 was asked", { vectors: "float" }],
    ["as base64, as it was asked", { vectors: "base64" }],
    ["as text/plain", { body: "text" }],
    ["compressed with gzip", { encoding: "gzip" }],
    ["compressed with brotli", { encoding: "br" }],
    ["compressed with zstd", { encoding: "zstd" }],
    ["compressed with deflate", { encoding: "deflate" }],
    ["in another order and compressed", { vectors: "shuffled", encoding: "gzip" }],
    ["in small pieces", { trickle: { bytes: 4000, everyMs: 5 } }],
    ["with a megabyte of white space", { huge: 1024 * 1024 }],
    ["on a connection that breaks when all is said", { reset: "after-body" }],
  ])("%s", async (_, fault) => {
    for (const encoding_format of encodings) {
      fake.script(fault);
      await expectVectors(await ask.embeddings(broken, { encoding_format }));
      // A connection that was broken off must not be taken for the next call.
      if (fault.reset) await Bun.sleep(60);
    }
  });

  test("in the order their index tells, which is all that can be known", async () => {
    fake.script({ vectors: "lying-index" });
    const response = await ask.embeddings(broken, { input: ["a", "b"] });
    const { data } = (await response.json()) as EmbeddingsAnswer;
    await expectVectors(
      Response.json({ data: data.toReversed().map((entry, index) => ({ ...entry, index })) }),
    );
  });

  test("with status 201, as some servers answer a POST", async () => {
    const reply = answer([embedding([0.5, 0.25])]).reply!;
    fake.script({ reply: { ...reply, status: 201 } });
    const response = await ask.embeddings(broken, { input: "a" });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ data: [{ embedding: [0.5, 0.25] }] });
  });

  test("bit for bit, down to the sign of zero", async () => {
    const floats = Float32Array.of(-0, 0, 1e-45, -1.1754942e-38, 3.4028235e38, 0.1, 1 / 3);
    const base64 = Buffer.from(floats.buffer).toString("base64");
    const numbers = `[${Array.from(floats, (n) => (Object.is(n, -0) ? "-0" : String(n))).join(",")}]`;
    for (const [sent, encoding_format] of [
      [`"${base64}"`, "float"],
      [`"${base64}"`, "base64"],
      [numbers, "float"],
      [numbers, "base64"],
    ] as const) {
      const body = `{"data":[{"index":0,"embedding":${sent}}]}`;
      fake.script({
        reply: { status: 200, headers: { "content-type": "application/json" }, body },
      });
      const response = await ask.embeddings(broken, { input: "a", encoding_format });
      const { data } = (await response.json()) as { data: { embedding: string | number[] }[] };
      const { embedding: got } = data[0]!;
      const bits =
        typeof got === "string" ? Buffer.from(got, "base64") : Float32Array.from(got).buffer;
      expect(Buffer.from(bits as ArrayBuffer).toString("hex")).toBe(
        Buffer.from(floats.buffer).toString("hex"),
      );
    }
  });

  test.each<[string, unknown]>([
    ["absent", undefined],
    ["null", null],
    ["a text", "many"],
    ["a text for a number", { prompt_tokens: "3" }],
    ["a fraction", { prompt_tokens: 1.5 }],
    ["below zero", { prompt_tokens: -1, total_tokens: -1 }],
    ["empty", {}],
  ])("usage that is %s is estimated for the client and unknown in the ledger", async (_, usage) => {
    fake.script(answer([embedding([0.5])], { usage, model: "vectors" }));
    const response = await ask.embeddings(broken, { input: "a" });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ usage: { prompt_tokens: 1, total_tokens: 1 } });
    expect(response.headers.get("vexel-usage")).toBe("estimated");
    expect(broken.gateway.rows().at(-1)).toMatchObject({ status: 200, inputTokens: null });
  });
});
