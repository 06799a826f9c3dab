/** A large JSON body is serialized piece by piece, to the bytes of JSON.stringify. */
import { expect, test } from "bun:test";
import fc from "fast-check";
import { isLongJson, LargeJson } from "../../server/lib/large-json.ts";
import { tries } from "../depth.ts";

const bytesOf = (value: unknown): Buffer => Buffer.concat(new LargeJson(value).chunks());
const expectSame = (value: unknown): void => {
  const body = new LargeJson(value);
  expect(bytesOf(value).toString()).toBe(JSON.stringify(value));
  expect(body.length).toBe(Buffer.byteLength(JSON.stringify(value)));
};

test("any value has the bytes of JSON.stringify", () => {
  const text = fc.string({ unit: "binary" });
  fc.assert(
    fc.property(
      fc.record({
        model: text,
        input: fc.oneof(text, fc.array(text), fc.array(fc.integer()), fc.array(fc.array(fc.nat()))),
        rest: fc.jsonValue(),
        absent: fc.constantFrom(undefined, null, true, Infinity),
      }),
      expectSame,
    ),
    tries(100),
  );
});

test("long texts have the bytes of JSON.stringify, also with pairs and lone halves of surrogates at every offset", () => {
  for (let at = 0; at < 4; at++) {
    expectSame([`${"x".repeat(at)}${"🐈".repeat(40_000)}`]);
    expectSame([`${"x".repeat(16_382 + at)}\ud83d${"\n".repeat(20_000)}\udc08\ud83d`]);
    expectSame([`${"x".repeat(16_382 + at)}\udc08\ud83d\udc08"\\${"猫".repeat(90_000)}`]);
  }
});

test("long lists of numbers, and of numbers and others, have the bytes of JSON.stringify", () => {
  const numbers = Array.from({ length: 600_000 }, (_, at) => at % 1000);
  expectSame({ input: numbers, model: "a" });
  expectSame([numbers.slice(0, 300_000), [], [1, "a", 2, null, 3], {}]);
});

test("a long value is recognized without reading all of it", () => {
  expect(isLongJson({ input: "x".repeat(200_000) })).toBe(false);
  expect(isLongJson({ input: "x".repeat(300_000) })).toBe(true);
  expect(isLongJson({ input: Array(100).fill("x".repeat(3000)) })).toBe(true);
  expect(isLongJson({ input: [Array(100_000).fill(1)] })).toBe(true);
  let read = 0;
  const counted = new Proxy(Array<string>(1_000_000).fill("x".repeat(1000)), {
    get: (list, name) => {
      read++;
      return Reflect.get(list, name);
    },
  });
  expect(isLongJson({ input: counted })).toBe(true);
  expect(read).toBeLessThan(2000);
});
