/** Invalid vectors of upstreams: what can be corrected is, and everything else is rejected. */
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import type { InjectedFault } from "../fake-upstream.ts";
import {
  type EmbeddingsBody,
  expectError,
  expectVectors,
  jsonResponse,
  send,
  startFaultSetup,
  upstreamFailure,
} from "./faults-fixture.ts";

const setup = startFaultSetup();
const { fake } = setup;
beforeEach(() => fake.clear());
afterAll(() => setup.close());

const invalid = upstreamFailure("upstream_invalid");
const encodings = ["float", "base64"] as const;
const embedding = (numbers: readonly unknown[] | string, index = 0) => ({
  object: "embedding",
  index,
  embedding: numbers,
});
const usage = { prompt_tokens: 1, total_tokens: 1 };
const scriptedResponse = (data: unknown, more: object = {}): InjectedFault =>
  jsonResponse({ object: "list", data, model: "m", usage, ...more });

describe("invalid vectors are never delivered:", () => {
  test.each<[string, InjectedFault, RegExp]>([
    ["one is missing", { vectors: "missing" }, /input 1 has no vector/],
    ["there is one too many", { vectors: "extra" }, /points at no input/],
    ["there are none", { vectors: "none" }, /0 vectors for 2 inputs/],
    ["two have the same index", { vectors: "duplicate-index" }, /same index/],
    ["one holds NaN", { vectors: "nan" }, /not a finite number/],
    ["one holds the word NaN", { vectors: "nan-literal" }, /not valid JSON/],
    ["one holds infinity", { vectors: "infinite" }, /not a finite number/],
    ["one is all zeros", { vectors: "zero" }, /all zeros/],
    ["one is shorter than the other", { vectors: "ragged" }, /1535 dimensions instead of 1536/],
    ["one is base64 of an incomplete float", { vectors: "odd-base64" }, /not base64/],
  ])("%s", async (_, fault, message) => {
    for (const encoding_format of encodings) {
      fake.script(fault);
      const response = await send.embeddings(setup, { encoding_format });
      const error = await expectError(setup, response, invalid);
      expect(error.message).toMatch(message);
    }
  });

  test("all of them are shorter than `dimensions`", async () => {
    fake.script({ vectors: "wrong-dimensions" });
    const response = await send.embeddings(setup, { model: "sized-vectors", dimensions: 256 });
    const error = await expectError(setup, response, invalid);
    expect(error.message).toContain("255 dimensions instead of 256");
  });

  test("all of them are shorter than the configuration says", async () => {
    fake.script({ vectors: "wrong-dimensions" });
    const response = await send.embeddings(setup, { model: "sized-vectors" });
    const error = await expectError(setup, response, invalid);
    expect(error.message).toContain("1535 dimensions instead of 1536");
  });

  test.each<[string, unknown]>([
    ["null in place of an entry", [null]],
    ["a number in place of an entry", [7]],
    ["an entry without a vector", [{ index: 0 }]],
    ["null in place of a vector", [{ index: 0, embedding: null }]],
    ["an object in place of a vector", [{ index: 0, embedding: { 0: 1 } }]],
    ["an empty vector", [embedding([])]],
    ["an empty vector in base64", [embedding("")]],
    ["a vector of texts", [embedding(["0.1", "0.2"])]],
    ["a vector of vectors", [embedding([[0.1, 0.2]])]],
    ["a vector with null", [embedding([0.1, null])]],
    ["a number too large for a float", [embedding([0.1, 1e300])]],
    ["numbers too small for a float", [embedding([1e-300, 1e-300])]],
    ["an index that is a text", [{ ...embedding([1]), index: "0" }]],
    ["a fractional index", [{ ...embedding([1]), index: 0.5 }]],
    ["a negative index", [{ ...embedding([1]), index: -1 }]],
    ["an index that is null beside one that is not", [{ ...embedding([1]), index: null }]],
    ["data that is not a list", { 0: embedding([1]) }],
    ["data that is a string", "AAAA"],
    ["null as data", null],
  ])("the response has %s", async (_, data) => {
    fake.script(scriptedResponse(data));
    await expectError(setup, await send.embeddings(setup, { input: "a" }), invalid);
  });

  test.each<[string, string]>([
    ["the URL-safe alphabet", "AACAPwAA_z8-AAA="],
    ["an invalid character", "AACAP!AAgD8A"],
    ["no padding", "AACAPwAAgD8"],
    ["padding in the middle", "AACAPw==AACAPw=="],
    ["a line break", "AACA\nPw=="],
    ["a space at the end", "AACAPw== "],
    ["other characters", "not base64 at all"],
    ["an emoji", "😀AACAPw=="],
  ])("base64 has %s, which a strict client could not read", async (_, text) => {
    for (const encoding_format of encodings) {
      fake.script(scriptedResponse([embedding(text)]));
      const response = await send.embeddings(setup, { input: "a", encoding_format });
      await expectError(setup, response, invalid);
    }
  });
});

describe("valid vectors are delivered", () => {
  test.each<[string, InjectedFault]>([
    ["in another order, with the right index", { vectors: "shuffled" }],
    ["without an index, in order", { vectors: "no-index" }],
    ["as numbers although base64 was requested", { vectors: "float" }],
    ["as base64, as requested", { vectors: "base64" }],
    ["as text/plain", { body: "text" }],
    ["compressed with gzip", { encoding: "gzip" }],
    ["in another order and compressed", { vectors: "shuffled", encoding: "gzip" }],
    ["in small chunks", { trickle: { bytes: 4000, everyMs: 5 } }],
    ["with a megabyte of white space", { huge: 1024 * 1024 }],
    ["on a connection that is reset after the body", { reset: "after-body" }],
  ])("%s", async (_, fault) => {
    for (const encoding_format of encodings) {
      fake.script(fault);
      await expectVectors(await send.embeddings(setup, { encoding_format }));
      // A connection that was reset must not be reused for the next request.
      if (fault.reset) await Bun.sleep(60);
    }
  });

  test("in the order of their index", async () => {
    fake.script({ vectors: "wrong-index" });
    const response = await send.embeddings(setup, { input: ["a", "b"] });
    const { data } = (await response.json()) as EmbeddingsBody;
    await expectVectors(
      Response.json({ data: data.toReversed().map((entry, index) => ({ ...entry, index })) }),
    );
  });

  test("with status 201, as some servers respond to a POST", async () => {
    const upstreamResponse = scriptedResponse([embedding([0.5, 0.25])]).response!;
    fake.script({ response: { ...upstreamResponse, status: 201 } });
    const response = await send.embeddings(setup, { input: "a" });
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
        response: { status: 200, headers: { "content-type": "application/json" }, body },
      });
      const response = await send.embeddings(setup, { input: "a", encoding_format });
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
    fake.script(scriptedResponse([embedding([0.5])], { usage, model: "vectors" }));
    const response = await send.embeddings(setup, { input: "a" });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ usage: { prompt_tokens: 1, total_tokens: 1 } });
    expect(response.headers.get("vexel-usage")).toBe("estimated");
    expect(setup.gateway.rows().at(-1)).toMatchObject({ status: 200, inputTokens: null });
  });
});
