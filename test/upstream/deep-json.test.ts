/** JSON of an upstream that is nested very deep costs little, and what is around the deep part is read. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { DepthFilter, isTooDeep, parseShallow } from "../../server/lib/json-depth.ts";
import { tries } from "../laws/law.ts";

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

/** The same value, with null in the place of what is deeper. */
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

/** With signs in it that mean something outside of strings. */
const text = fc.string({ unit: fc.constantFrom(..."[]{}\\\"',:a ü\n") });
const { value: values } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    fc.oneof(text, fc.integer(), fc.constant(null)),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(text, tie("value"), { maxKeys: 3 }),
  ),
}));

test("what is too deep becomes null, and nothing else changes, wherever the bytes are cut", () => {
  fc.assert(
    fc.property(
      values,
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.nat(200)),
      fc.boolean(),
      (value, max, cuts, isSpaced) => {
        const json = JSON.stringify(value, undefined, isSpaced ? 1 : 0);
        const bytes = Buffer.from(json);
        const filter = new DepthFilter(max);
        const kept: Uint8Array[] = [];
        let from = 0;
        for (const cut of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
          kept.push(filter.push(bytes.subarray(from, cut)));
          from = Math.max(from, Math.min(cut, bytes.length));
        }
        expect(JSON.parse(Buffer.concat(kept).toString())).toEqual(cutAt(value, max));
        expect(isTooDeep(json, max)).toBe(depthOf(value) > max);
      },
    ),
    tries(300),
  );
});

test("bytes in which nothing is too deep are handed on as they are", () => {
  const bytes = Buffer.from(JSON.stringify({ data: [{ b64_json: "a".repeat(1000) }] }));
  expect(new DepthFilter().push(bytes)).toBe(bytes);
});

test("a text of millions of brackets is read in small steps, and others have their turn between", async () => {
  const deep = `{"a":1,"deep":${nested(5_000_000)},"b":{"c":[2]}}`;
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  const value = (await parseShallow(deep)) as { a: number; b: unknown };
  isDone = true;
  expect([value.a, value.b]).toEqual([1, { c: [2] }]);
  expect(turns).toBeGreaterThan(20);
});

test("a text that ends in the depth is no JSON", async () => {
  for (const broken of ["[".repeat(1_000_000), '{"a":'.repeat(1_000_000)]) {
    await expect(parseShallow(broken)).rejects.toThrow(SyntaxError);
  }
});
