/** A JSON object that is parsed in slices, while it arrives, gives what JSON.parse gives. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { exceededLimit } from "../../server/http/json-bounds.ts";
import { InvalidUtf8, JsonSlices } from "../../server/lib/json-slices.ts";
import { tries } from "../depth.ts";

interface Parsed {
  readonly value?: unknown;
  readonly error?: "SyntaxError" | "InvalidUtf8";
}

/** `cuts`: offsets at which the text arrives in another chunk; complete slices are parsed after each chunk. */
function parseInSlices(text: string | Buffer, cuts: readonly number[], sliceBytes: number): Parsed {
  const bytes = Buffer.from(text as string);
  const slices = new JsonSlices(0, { sliceBytes });
  const offsets = [...cuts.map((at) => at % (bytes.length + 1)), bytes.length];
  let from = 0;
  try {
    for (const to of offsets.sort((a, b) => a - b)) {
      slices.take(bytes.subarray(from, to));
      for (const _ of slices.parseReady());
      from = to;
    }
    const end = slices.end();
    for (;;) {
      const { done, value } = end.next();
      if (done) return { value };
    }
  } catch (error) {
    if (error instanceof SyntaxError) return { error: "SyntaxError" };
    if (error instanceof InvalidUtf8) return { error: "InvalidUtf8" };
    throw error;
  }
}

function parseWhole(text: string): Parsed {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return { error: "SyntaxError" };
  }
}

const cuts = fc.array(fc.nat({ max: 4000 }), { maxLength: 8 });
const sliceBytes = fc.integer({ min: 1, max: 60 });
const space = fc.constantFrom("", "", " ", "\n", "\t ");
const json = fc.json({ maxDepth: 4, noUnicodeString: false });
const list = fc.array(
  fc.oneof(
    json,
    fc.string({ unit: "binary" }).map((s) => JSON.stringify(s)),
  ),
  {
    maxLength: 40,
  },
);
const names = fc.oneof(
  fc.constantFrom("input", "model", "__proto__", "1", ""),
  fc.string({ unit: "binary" }),
);

/** The text of an object, with spaces wherever they may be and fields that may occur twice. */
const objects = fc
  .array(fc.tuple(names, fc.oneof(json, list), space, space), { maxLength: 8 })
  .map((fields) => {
    const texts = fields.map(([name, value, a, b]) => {
      const text = Array.isArray(value) ? `[${a}${value.join(`${b},${a}`)}${b}]` : value;
      return `${a}${JSON.stringify(name)}${b}:${a}${text}${b}`;
    });
    return `{${texts.join(",")}}`;
  });

test("any object has the same value, wherever its bytes and its lists are cut", () => {
  fc.assert(
    fc.property(objects, space, cuts, sliceBytes, (text, around, at, size) => {
      const whole = around + text + around;
      expect(parseInSlices(whole, at, size)).toEqual(parseWhole(whole));
    }),
    tries(500),
  );
});

test("a text is refused exactly where JSON.parse refuses it, after any change of one character", () => {
  const character = fc.constantFrom(...'{}[],:"\\ 0ae\u0001');
  fc.assert(
    fc.property(
      objects,
      fc.nat(),
      character,
      fc.boolean(),
      cuts,
      sliceBytes,
      (text, at, ...more) => {
        const [changed, isInserted, ...where] = more;
        const from = at % text.length;
        const after = text.slice(from + (isInserted ? 0 : 1));
        const whole = (text.slice(0, from) + changed + after).toWellFormed();
        const expected = parseWhole(whole);
        const isObject = typeof expected.value === "object" && !Array.isArray(expected.value);
        const found = parseInSlices(whole, ...where);
        if (isObject && expected.value !== null) expect(found).toEqual(expected);
        // A text without an object is refused by the calling function, JSON or not.
        else
          expect([undefined, "SyntaxError"]).toContain(found.error ?? (found.value as undefined));
      },
    ),
    tries(1500),
  );
});

describe("a text", () => {
  test.each<[string, string]>([
    ["with a missing entry at a cut", '{"input":["aaaaaaaa",,"bbbbbbbb"]}'],
    ["with a comma after the last entry", '{"input":["aaaaaaaa","bbbbbbbb",]}'],
    ["with a comma before the first entry", '{"input":[,"aaaaaaaa","bbbbbbbb"]}'],
    ["with a missing field", '{"input":["aaaaaaaa"],,"model":"a"}'],
    ["with a comma after the last field", '{"input":["aaaaaaaa","bbbbbbbb"],}'],
    ["with a list that a brace closes", '{"input":["aaaaaaaa","bbbbbbbb"}}'],
    ["that a bracket closes", '{"input":["aaaaaaaa","bbbbbbbb"]]'],
    ["with more behind it", '{"input":["aaaaaaaa","bbbbbbbb"]}{}'],
    ["with more before it", 'a{"input":["aaaaaaaa","bbbbbbbb"]}'],
    ["with two lists in one field", '{"input":["aaaaaaaa","bbbbbbbb"]["c"]}'],
    ["with a list as a name", '{["aaaaaaaa","bbbbbbbb"]:1}'],
    ["with a control character in a long string", '{"input":["aaaaaaaa\u0001","bbbbbbbb"]}'],
    ["that ends early", '{"input":["aaaaaaaa","bbbbbbbb"]'],
  ])("%s is not JSON", (_, text) => {
    expect(parseInSlices(text, [], 4)).toEqual({ error: "SyntaxError" });
  });

  test("with a byte order mark is read without it", () => {
    const text = '\ufeff {"input":["aaaaaaaa","bbbbbbbb"]} ';
    expect(parseInSlices(text, [], 4)).toEqual({ value: { input: ["aaaaaaaa", "bbbbbbbb"] } });
  });

  test("that is not UTF-8 is refused wherever the wrong byte is", () => {
    const text = Buffer.from('{"input":["aaaaaaaa","bbbbbbbb"],"model":"cccc"} ');
    for (let at = 1; at < text.length - 2; at++) {
      if ('{}[],:"'.includes(String.fromCharCode(text[at] as number))) continue;
      const wrong = Buffer.from(text);
      wrong[at] = 0xff;
      expect(parseInSlices(wrong, [], 4)).toEqual({ error: "InvalidUtf8" });
    }
  });
});

test("bytes of slices that are parsed are dropped while the rest arrives", () => {
  const slices = new JsonSlices(0, { sliceBytes: 1000 });
  slices.take(Buffer.from('{"input":['));
  const entry = Buffer.from(`"${"x".repeat(98)}",`);
  let most = 0;
  for (let count = 0; count < 10_000; count++) {
    slices.take(entry);
    for (const _ of slices.parseReady());
    most = Math.max(most, slices.whole.length);
  }
  expect(slices.length).toBeGreaterThan(1_000_000);
  expect(most).toBeLessThan(2000);
});

test("no slice is much longer than its limit, however deep a long list is nested", () => {
  const list = Array.from({ length: 50_000 }, (_, at) => at);
  const value = { a: 1, b: [{ c: { d: [[], list, { e: list }] } }, 2] };
  let longest = 0;
  const check = ({ length }: Buffer): void => {
    longest = Math.max(longest, length);
  };
  const slices = new JsonSlices(0, { sliceBytes: 1000, check });
  slices.take(Buffer.from(JSON.stringify(value)));
  const end = slices.end();
  let step = end.next();
  while (!step.done) step = end.next();
  expect(step.value).toEqual(value);
  expect(longest).toBeLessThan(5000);
});

test("characters of a long slice are counted as UTF-16 code units, if one of them is not ASCII", () => {
  const isWide = (text: string): boolean =>
    exceededLimit(Buffer.from(text), { wideCharacters: 100, escapes: 1000 }) === "wideCharacters";
  expect(isWide("a".repeat(1000))).toBe(false);
  expect(isWide(`${"a".repeat(99)}猫`)).toBe(false);
  expect(isWide(`${"a".repeat(100)}猫`)).toBe(true);
  expect(isWide(`猫${"a".repeat(100)}`)).toBe(true);
  expect(isWide("猫".repeat(100))).toBe(false);
  expect(isWide("猫".repeat(101))).toBe(true);
  expect(isWide("🐈".repeat(50))).toBe(false);
  expect(isWide("🐈".repeat(51))).toBe(true);
  expect(isWide("\\u732b".repeat(100))).toBe(false);
  expect(isWide("\\u732b".repeat(101))).toBe(true);
  expect(isWide(`${"a".repeat(98)}\\n\\u732b`)).toBe(false);
});

test("escape sequences of a long slice are counted", () => {
  const exceeded = (text: string) =>
    exceededLimit(Buffer.from(text), { wideCharacters: 100, escapes: 100 });
  expect(exceeded("\\\\".repeat(100))).toBeUndefined();
  expect(exceeded("\\\\".repeat(101))).toBe("escapes");
  expect(exceeded("\\n".repeat(101))).toBe("escapes");
});
