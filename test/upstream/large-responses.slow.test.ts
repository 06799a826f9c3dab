/** Responses with images are read chunk by chunk and decoded exactly, wherever the chunks are split. */

import { afterAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import {
  encodeBase64Stream,
  StreamedString,
  stringifyStreamed,
} from "../../server/lib/json-stream.ts";
import { createRequestTemp } from "../../server/temp-storage/request-temp.ts";
import { LongText, readDocument } from "../../server/upstream/adapters/wire/document.ts";
import { imageContentIn } from "../../server/upstream/adapters/wire/image-list.ts";
import { tries } from "../depth.ts";
import { temporaryFolder } from "../harness.ts";
import { upstreamResponseOf } from "../laws/adapter-cases.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

const long = Buffer.alloc(300_000, "vexel+/").toString("latin1");

/** The value as JSON.parse would return it: with strings instead of `LongText`. */
async function restored(value: unknown): Promise<unknown> {
  if (value instanceof LongText) return Buffer.from(await value.bytes()).toString("latin1");
  if (Array.isArray(value)) return Promise.all(value.map(restored));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(async ([name, entry]) => [name, await restored(entry)]);
  return Object.fromEntries(await Promise.all(entries));
}

async function read(text: string, cuts: readonly number[] = []) {
  const temp = createRequestTemp(folder.path);
  try {
    return await restored(await readDocument(upstreamResponseOf(text, { cuts: [...cuts] }), temp));
  } finally {
    await temp.clear();
  }
}

describe("a large response", () => {
  test("parses as with JSON.parse, however it is chunked, with long texts anywhere", async () => {
    const texts = fc.oneof(
      { weight: 4, arbitrary: fc.string({ unit: "grapheme" }) },
      { weight: 1, arbitrary: fc.constantFrom(long, `${long}=`, long.slice(0, 131_073)) },
    );
    const values = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: "small" },
        texts,
        fc.double({ noNaN: true }),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(
          texts.filter((text) => text.length < 99),
          tie("value"),
          { maxKeys: 3 },
        ),
      ),
    })).value;
    const offsets = fc.array(fc.nat(400_000), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(values, offsets, async (value, cuts) => {
        const text = JSON.stringify(value);
        expect(await read(text, cuts)).toEqual(JSON.parse(text));
      }),
      tries(150),
    );
  });

  test("with escapes and line breaks in its base64 is the same base64", async () => {
    const written = JSON.stringify({ data: [{ b64_json: long }] });
    for (const escaped of [
      written.replaceAll("/", "\\/").replace("vexel+", "vexel+\\n"),
      written.replaceAll("+", "\\u002b").replaceAll("/", "\\u002F"),
    ]) {
      for (const cuts of [[], [200_000, 200_001, 200_002, 200_004, 200_007, 200_009]]) {
        expect(await read(escaped, cuts)).toEqual({ data: [{ b64_json: long }] });
      }
    }
  });

  test("that is truncated, or has a long text that is not base64, is an invalid upstream response", async () => {
    for (const broken of [
      `{"a":"${long}`,
      `{"a":"${long}"`,
      `{"a":"${long}\\`,
      `{"a":"${long}\\u00e9"}`,
      "",
      `"${long}"x`,
    ]) {
      const thrown = await read(broken).catch((error: unknown) => error);
      expect(thrown).toBeInstanceOf(GatewayError);
      expect((thrown as GatewayError).kind).toBe("upstream_invalid");
    }
  });

  test("holds an image without the prefix of its data URL", async () => {
    const temp = createRequestTemp(folder.path);
    const text = JSON.stringify({ image: `data:image/png;base64,${long}` });
    const { image } = (await readDocument(upstreamResponseOf(text), temp)) as { image: unknown };
    const imageBytes = imageContentIn(image);
    if (imageBytes?.kind !== "spilled") throw new Error("it was not spilled");
    expect(Buffer.from(await imageBytes.spilled.bytes()).toString("latin1")).toBe(long);
    await temp.clear();
  });
});

describe("JSON with long texts", () => {
  test("has its declared length and its original content", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uint8Array({ maxLength: 200 }), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 50 }),
        async (files, chunk) => {
          async function* chunks(bytes: Uint8Array) {
            for (let at = 0; at < bytes.length; at += chunk) yield bytes.subarray(at, at + chunk);
          }
          const texts = files.map((bytes) => {
            const length = Buffer.from(bytes).toString("base64").length;
            return new StreamedString(length, () => encodeBase64Stream(chunks(bytes)), {
              prefix: "data:;base64,",
            });
          });
          const body = stringifyStreamed({ first: "é", texts });
          if (typeof body === "string") throw new Error("it is not in memory");
          // Twice: a retry sends the same body.
          for (let again = 0; again < 2; again++) {
            const sent = Buffer.concat(
              await Array.fromAsync(body.open(), (part) => Buffer.from(part)),
            );
            expect(sent.length).toBe(body.length);
            expect(JSON.parse(sent.toString())).toEqual({
              first: "é",
              texts: files.map((bytes) => `data:;base64,${Buffer.from(bytes).toString("base64")}`),
            });
          }
        },
      ),
      tries(200),
    );
  });
});
