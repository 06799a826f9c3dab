/** Large lines of a batch do not keep other requests waiting: they run in small groups, and are not serialized to be compared. */
import { expect, test } from "bun:test";
import { mergeLines } from "../../server/batches/merge-lines.ts";
import { groupLines } from "../../server/jobs/group-lines.ts";
import type { JobLine } from "../../server/jobs/job-kind.ts";

const lineOf = (body: unknown): JobLine => ({ operation: "embeddings", body, publicUrl: "" });
const linesOf = (count: number, fields: object): JobLine[] =>
  Array.from({ length: count }, (_, at) => lineOf({ model: "m", input: `text ${at}`, ...fields }));

async function groupSizes(lines: readonly JobLine[]): Promise<number[]> {
  const sizes: number[] = [];
  const read = async function* () {
    yield* lines;
  };
  for await (const group of groupLines(read())) sizes.push(group.length);
  return sizes;
}

test("a line with a large extra field is sent alone, and the field is not read to its end", () => {
  let reads = 0;
  const numbers = new Proxy(Array<number>(380_000).fill(1.2345e-7), {
    get: (target, name) => {
      reads++;
      return Reflect.get(target, name);
    },
  });
  const asked: unknown[] = [];
  const lines = linesOf(10, { x: numbers });
  const merged = mergeLines(lines, (body) => asked.push(body) > 0);
  expect(merged).toEqual(lines.map((line) => ({ lines: [line] })));
  expect(asked).toEqual([]);
  expect(reads).toBeLessThan(lines.length * 2000);
});

test("long texts are merged if their parameters are equal and short", () => {
  const lines = linesOf(20, { input: ["long ".repeat(5000), "x"], dimensions: 8 });
  const [only, ...others] = mergeLines(lines, () => true);
  expect(others).toEqual([]);
  const body = only?.merged?.body as { readonly input: unknown[] } | undefined;
  expect(body?.input).toHaveLength(40);
});

test("lines run together up to one MiB, and a larger line runs alone", async () => {
  expect(await groupSizes(linesOf(300, {}))).toEqual([128, 128, 44]);
  const text = "x".repeat(100 * 1024);
  expect(await groupSizes(linesOf(25, { input: text }))).toEqual([10, 10, 5]);
  const large = lineOf({ model: "m", input: "a", x: Array<number>(380_000).fill(1.2345e-7) });
  const [small] = linesOf(1, {}) as [JobLine];
  expect(await groupSizes([small, large, large, small, small])).toEqual([1, 1, 1, 2]);
});
