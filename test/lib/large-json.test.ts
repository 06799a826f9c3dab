/** Whether a JSON body is large is known without serializing it. */
import { expect, test } from "bun:test";
import { isLongJson } from "../../server/lib/large-json.ts";

const isLong = (value: unknown): boolean => isLongJson(value, 256 * 1024);

test("a long text is found also in a list that begins with a number", () => {
  expect(isLong({ x: [1, "x".repeat(300_000)] })).toBe(true);
});

test("a long value is recognized without reading all of it", () => {
  expect(isLong({ input: "x".repeat(200_000) })).toBe(false);
  expect(isLong({ input: "x".repeat(300_000) })).toBe(true);
  expect(isLong({ input: Array(100).fill("x".repeat(3000)) })).toBe(true);
  expect(isLong({ input: [Array(100_000).fill(1)] })).toBe(true);
  let read = 0;
  const counted = new Proxy(Array<string>(1_000_000).fill("x".repeat(1000)), {
    get: (list, name) => {
      read++;
      return Reflect.get(list, name);
    },
  });
  expect(isLong({ input: counted })).toBe(true);
  expect(read).toBeLessThan(2000);
});
