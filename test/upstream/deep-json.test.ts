/**
 * JSON of an upstream that is deeply nested or has very many values costs little, and the rest of it is read.
 */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { JsonFilter, JsonScan } from "../../server/lib/json-scan.ts";
import {
  checkUpstreamJson,
  documentBounds,
  parseUpstreamJson,
} from "../../server/upstream/upstream-json.ts";
import { tries } from "../depth.ts";
import { turnsDuring } from "./turns-during.ts";

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

/**
 * The error of a text that is refused. `rejects` of Bun would run the event loop itself, where each slice waits for the
 * next timer of any file of the process.
 */
const refusalOf = (json: string): Promise<unknown> =>
  parseUpstreamJson(json).then(
    () => undefined,
    (error: unknown) => error,
  );

/** The same value, with null for every value below this depth. */
function cutAt(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (depth === 0) return null;
  if (Array.isArray(value)) return value.map((entry) => cutAt(entry, depth - 1));
  return Object.fromEntries(
    Object.entries(value).map(([name, entry]) => [name, cutAt(entry, depth - 1)]),
  );
}

const depthOf = (value: unknown): number =>
  typeof value === "object" && value !== null
    ? 1 + Math.max(0, ...Object.values(value).map(depthOf))
    : 0;

/** Texts with characters that have a meaning outside of JSON strings. */
const text = fc.string({ unit: fc.constantFrom(..."[]{}\\\"',:a ü\n") });
const { value: values } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.oneof(text, fc.integer(), fc.constant(null)),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(text, tie("value"), { maxKeys: 3 }),
  ),
}));

test("a value that is nested too deeply becomes null, and nothing else changes, however the bytes are chunked", () => {
  fc.assert(
    fc.property(
      values,
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.nat(200)),
      fc.boolean(),
      (value, max, cuts, isSpaced) => {
        const json = JSON.stringify(value, undefined, isSpaced ? 1 : 0);
        const bytes = Buffer.from(json);
        const filter = new JsonFilter({ ...documentBounds, depth: max });
        const kept: Uint8Array[] = [];
        let from = 0;
        for (const cut of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
          kept.push(filter.push(bytes.subarray(from, cut)));
          from = Math.max(from, Math.min(cut, bytes.length));
        }
        expect(JSON.parse(Buffer.concat(kept).toString())).toEqual(cutAt(value, max));
        const scan = new JsonScan();
        scan.take(bytes);
        expect(scan.maxDepth).toBe(depthOf(value));
      },
    ),
    tries(300),
  );
});

/** For each byte, whether it is within a string and belongs to no escape. */
function plainBytes(json: string): boolean[] {
  let [inString, escaped] = [false, false];
  return [...Buffer.from(json)].map((byte) => {
    const [isQuote, isBackslash] = [byte === 0x22, byte === 0x5c];
    const isPlain = inString && !escaped && !isQuote && !isBackslash;
    if (isQuote && !escaped) inString = !inString;
    escaped = inString && isBackslash && !escaped;
    return isPlain;
  });
}

test("a chunk within one string is told from every other chunk, wherever the bytes are cut", () => {
  fc.assert(
    fc.property(values, fc.array(fc.nat(200)), (value, cuts) => {
      const json = JSON.stringify(value);
      const bytes = Buffer.from(json);
      const plain = plainBytes(json);
      const scan = new JsonScan();
      let from = 0;
      for (const cut of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
        const to = Math.max(from, Math.min(cut, bytes.length));
        scan.take(bytes.subarray(from, to));
        if (to > from) expect(scan.isWithinString).toBe(plain.slice(from, to).every(Boolean));
        from = to;
      }
    }),
    tries(300),
  );
});

test("bytes without a value that is nested too deeply are passed on unchanged", () => {
  const bytes = Buffer.from(JSON.stringify({ data: [{ b64_json: "a".repeat(1000) }] }));
  expect(new JsonFilter(documentBounds).push(bytes)).toBe(bytes);
});

test("a text of millions of brackets is read in slices, and other requests run between them", async () => {
  const deep = `{"a":1,"deep":${nested(5_000_000)},"b":{"c":[2]}}`;
  const { turns, result } = await turnsDuring(() => parseUpstreamJson(deep));
  const { a, b } = result as { a: number; b: unknown };
  expect([a, b]).toEqual([1, { c: [2] }]);
  expect(turns).toBeGreaterThan(20);
});

test("a text that ends inside nested brackets is not valid JSON", async () => {
  for (const broken of ["[".repeat(1_000_000), '{"a":'.repeat(1_000_000)]) {
    expect(await refusalOf(broken)).toBeInstanceOf(SyntaxError);
  }
});

const brackets = (count: number): string => `[${"[],".repeat(count)}1]`;

/** The filtered document, if it is read in chunks of this many bytes. */
function filtered(json: string, pieceBytes: number): string {
  const filter = new JsonFilter(documentBounds);
  const bytes = Buffer.from(json);
  const kept: Uint8Array[] = [];
  for (let from = 0; from < bytes.length; from += pieceBytes) {
    kept.push(filter.push(bytes.subarray(from, from + pieceBytes)));
    if (filter.isTooLarge) throw new Error("too large");
  }
  return Buffer.concat(kept).toString();
}

test("a member with too many values is cut after the limit, and the members around it are complete", () => {
  const most = documentBounds.memberValues;
  const wide: readonly (readonly [string, string])[] = [
    ["arrays", brackets(100_000)],
    ["numbers", `[${"1,".repeat(100_000)}1]`],
    ["fields", `{${Array.from({ length: 100_000 }, (_, at) => `"f${at}":1`).join(",")}}`],
    ["nested", `{"a":[{"b":${brackets(100_000)},"c":1},2],"d":3}`],
    ["deep", `[${`${nested(80)},`.repeat(100_000)}1]`],
  ];
  for (const [what, value] of wide) {
    for (const pieceBytes of [4099, 65_536, 10_000_000]) {
      const json = `{"before":[1,{"a":"]},"}],"wide":${value},"data":[{"b64_json":"x"},{"b64_json":"y"}]}`;
      const left = filtered(json, pieceBytes);
      const { wide: cut, ...others } = JSON.parse(left) as { wide: unknown };
      expect(others, what).toEqual({
        before: [1, { a: "]}," }] as unknown,
        data: [{ b64_json: "x" }, { b64_json: "y" }],
      } as never);
      expect(cut, what).toBeTruthy();
      expect(left.split(/[[{,]/).length, what).toBeLessThan(most + 200);
    }
  }
});

test("a document with too many members, or too many wide ones, is too large", () => {
  const members = Array.from({ length: 100_000 }, (_, at) => `"f${at}":1`);
  expect(() => filtered(`{${members.join(",")}}`, 65_536)).toThrow("too large");
  const wide = Array.from({ length: 6 }, (_, at) => `"f${at}":${brackets(100_000)}`);
  expect(() => filtered(`{${wide.join(",")}}`, 65_536)).toThrow("too large");
});

test("a response with vectors is refused for too many arrays or fields, and not for its numbers", async () => {
  const vector = `[${"1,".repeat(3000)}1]`;
  const vectors = `{"data":[${Array(700).fill(`{"embedding":${vector}}`).join(",")}]}`;
  await parseUpstreamJson(vectors);
  checkUpstreamJson(Buffer.from(vectors));
  const fields = `{${'"a":1,'.repeat(300_000)}"data":[${"[],".repeat(100)}1]}`;
  for (const json of [`{"x":${brackets(200_000)}}`, fields]) {
    expect(String(await refusalOf(json))).toContain("The upstream's response is not usable");
    expect(() => checkUpstreamJson(Buffer.from(json))).toThrow("it has more than");
  }
});
