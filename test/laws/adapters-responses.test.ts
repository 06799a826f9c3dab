/** The fast parser of embeddings responses gives the same result as JSON.parse. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { inspectVector } from "../../server/embeddings/vector-formats.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { EncodedVector } from "../../server/lib/vector-codec/float32-base64.ts";
import { readEmbeddingsResponse } from "../../server/upstream/adapters/openai/embeddings.ts";
import { parseEmbeddingsResponse } from "../../server/upstream/adapters/openai/parse-embeddings-response.ts";
import type { EmbeddingsQuery } from "../../server/upstream/contract.ts";
import { tries } from "../depth.ts";
import { upstreamResponseOf } from "./adapter-cases.ts";

const ascii = fc.string({ unit: "binary-ascii", maxLength: 12 });
/** Texts that look like the members that the fast parser searches for. */
const traps = fc.constantFrom(
  '"embedding":"AAAA"',
  'embedding":"',
  '\\"embedding\\":\\"',
  '{"embedding":"x"}',
  "\\",
  "embedding",
  "0",
);
const texts = fc.oneof(ascii, traps, fc.string({ unit: "grapheme", maxLength: 8 }));
const value = fc.oneof(texts, fc.integer(), fc.constant(null), fc.array(texts, { maxLength: 2 }));
const entry = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record(
      {
        object: texts,
        index: fc.oneof(fc.nat(5), value),
        embedding: fc.oneof(fc.base64String(), ascii, fc.array(fc.integer()), traps, value),
        note: value,
        inner: fc.record({ embedding: value }, { requiredKeys: [] }),
      },
      { requiredKeys: [] },
    ),
  },
  { weight: 1, arbitrary: value },
);
const responses = fc.record(
  {
    before: value,
    data: fc.oneof(fc.array(entry, { maxLength: 4 }), value),
    embedding: value,
    model: texts,
    usage: value,
  },
  { requiredKeys: ["data"] },
);
const spacing = fc.constantFrom(0, 1, 2, "\t");

/** Some JSON writers escape characters that need no escape. */
const escaping = fc.constantFrom(
  (text: string) => text,
  (text: string) => text.replaceAll("/", "\\/"),
  (text: string) => text.replaceAll("embedding", "embeddin\\u0067"),
  (text: string) => text.replaceAll('":', '" \r\n\t:\n '),
);

/** Converts vectors that are still in the response's bytes to text. */
function asText(value: unknown): unknown {
  if (value instanceof EncodedVector) return String(value);
  if (Array.isArray(value)) return value.map(asText);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, asText(entry)]));
}

/** The result of JSON.parse for the same text, or undefined if it throws. */
function plainly(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Such a vector is not base64. It is read byte by byte, and refused when it is verified. */
const vectorBeyondAscii = /"embedding"\s*:\s*"[^"]*[^\0-\x7f]/;

test("a vector with a character beyond ASCII is refused", async () => {
  const bytes = Buffer.from('{"data":[{"embedding":"AAAA\u00fcAAA"}]}');
  const { data } = (await parseEmbeddingsResponse(bytes)).value as {
    data: [{ embedding: string }];
  };
  expect(inspectVector(String(data[0].embedding))).toBeUndefined();
});

test("a response is parsed as by JSON.parse, whatever it contains", async () => {
  await fc.assert(
    fc.asyncProperty(responses, spacing, escaping, async (response, indent, respell) => {
      const text = respell(JSON.stringify(response, null, indent));
      const expected = plainly(text);
      fc.pre(expected !== undefined && !vectorBeyondAscii.test(text));
      const { value } = await parseEmbeddingsResponse(Buffer.from(text));
      expect(asText(value)).toEqual(expected.value);
    }),
    tries(1500),
  );
});

test("a response that JSON.parse refuses is an error, or has a vector that the verify stage refuses", async () => {
  const noises = fc.constantFrom("", '"', "\\", "{", "\n", "x");
  await fc.assert(
    fc.asyncProperty(responses, fc.nat(), noises, async (response, at, noise) => {
      const good = JSON.stringify(response);
      const offset = at % (good.length + 1);
      const bytes = Buffer.from(good.slice(0, offset) + noise + good.slice(offset + 1));
      // As decoded: half a character becomes the replacement character.
      const text = bytes.toString();
      const expected = plainly(text);
      try {
        const got = asText((await parseEmbeddingsResponse(bytes)).value);
        if (vectorBeyondAscii.test(text)) return;
        expect(expected).toEqual({ value: got });
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        expect(error.kind).toBe("upstream_invalid");
        expect(expected).toBeUndefined();
      }
    }),
    tries(1500),
  );
});

describe("a response is passed on byte for byte", () => {
  const vector = Buffer.from(Float32Array.of(0.5, -1).buffer).toString("base64");
  const query: EmbeddingsQuery = {
    model: "m",
    input: { kind: "text", texts: ["a", "b"] },
    single: false,
    encoding: "base64",
    extraFields: {},
  };
  const entries = [0, 1].map(
    (index) => `{"object":"embedding","index":${index},"embedding":"${vector}"}`,
  );
  const usage = `{"prompt_tokens":5,"total_tokens":5}`;
  const whole = (data: readonly string[], reportedUsage = usage, more = "") =>
    `{"object":"list",${more}"data":[${data.join(", ")}],"model":"a:b","usage":${reportedUsage}}`;
  const read = (text: string, encoding: EmbeddingsQuery["encoding"] = "base64") =>
    readEmbeddingsResponse(upstreamResponseOf(text), { ...query, encoding });

  test("if it has the encoding that the client requested", async () => {
    const text = whole(entries);
    expect((await read(text)).verbatim?.body.toString()).toBe(text);
    const spaced = text.replaceAll(":", " : ").replace("a : b", "a:b");
    expect((await read(spaced)).verbatim?.encoding).toBe("base64");
    const inNumbers = (number: string) =>
      text.replaceAll(`"${vector}"`, `[${Array(100).fill(number).join(",")}]`);
    expect((await read(inNumbers("0.1"), "float")).verbatim?.encoding).toBe("float");
    expect((await read(inNumbers("0.1"), "base64")).verbatim).toBeUndefined();
    expect((await read(text, "float")).verbatim).toBeUndefined();
    // Float32 numbers are printed again, in fewer digits.
    expect((await read(inNumbers("0.10000000149011612"), "float")).verbatim).toBeUndefined();
  });

  const more = entries.map((entry) => entry.replace("{", `{"meta":{"embedding":"AAAA"},`));
  test.each([
    ["an implausible total", whole(entries, `{"prompt_tokens":5,"total_tokens":99999999}`)],
    ["more in its usage", whole(entries, `{"prompt_tokens":5,"total_tokens":5,"cost":1}`)],
    ["more in its entries", whole(more)],
    ["another field", whole(entries, usage, `"id":"1",`)],
  ])("a response with %s is not passed on verbatim", async (_, text) => {
    const response = await read(text);
    expect(response.verbatim).toBeUndefined();
    expect(response.vectors.map(String)).toEqual([vector, vector]);
    expect(response.usage?.inputTokens).toBe(5);
  });
});
