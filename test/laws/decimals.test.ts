/** JSON numbers are read as float32: each is the one that JSON.parse and Math.fround return, to the last bit. */
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readNumbers } from "../../server/lib/vector-codec/index.ts";
import { scaled, tries } from "../depth.ts";
import { expectCompiled } from "./assembled.ts";

test("decimals.wasm is compiled from decimals.wat", () => expectCompiled("decimals"));

/** Runs all steps. `before`: bytes of the document before the list. */
function read(list: string, before = "", after = "") {
  const document = Buffer.from(`${before}${list}${after}`, "latin1");
  const steps = readNumbers(document, before.length + 1);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

const bitsOf = ({ buffer, byteOffset, byteLength }: Float32Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("hex");

/** Compares with the engine. */
function expectRead(texts: readonly string[], separator = ",", before = "", after = ""): void {
  const list = `[${texts.join(separator)}]`;
  const parsed = JSON.parse(list) as number[];
  const found = read(list, before, after);
  expect(found?.numbers.length).toBe(parsed.length);
  const expected = Float32Array.from(parsed);
  if (bitsOf(found!.numbers) !== bitsOf(expected)) {
    const at = parsed.findIndex((_, index) => !Object.is(found?.numbers[index], expected[index]));
    throw new Error(`${texts[at]} is read as ${found?.numbers[at]} instead of ${expected[at]}`);
  }
  expect(found?.end).toBe(before.length + list.length);
}

test("a list changes no list that was read before, whatever their lengths", () => {
  const lengths = Array.from({ length: 200 }, (_, at) => (at * 977) % 3000);
  const lists = lengths.map((length, seed) =>
    Array.from({ length }, (_, at) => Math.fround(seed + at / 4096)),
  );
  const found = lists.map((list) => read(JSON.stringify(list))?.numbers);
  for (const [at, list] of lists.entries()) expect(Array.from(found[at] ?? [])).toEqual(list);
});

const floatOf = (bits: number): number =>
  new Float32Array(Uint32Array.of(bits).buffer)[0] as number;
const wordOf = (float: number): number => new Uint32Array(Float32Array.of(float).buffer)[0]!;

/** Exact decimal texts around the middle between a float32 and the next one. */
function* halfway(float: number): Generator<string> {
  const next = floatOf(wordOf(float) + 1);
  const middle = (float + next) / 2;
  for (const digits of [21, 20, 19, 18, 17, 16, 15, 9]) yield middle.toPrecision(digits);
  // Doubles next to the middle.
  const double = new Float64Array([middle]);
  const word = new BigInt64Array(double.buffer);
  const bits = word[0]!;
  for (let distance = -12n; distance <= 12n; distance++) {
    word[0] = bits + distance;
    yield String(double[0]);
    yield double[0]!.toPrecision(19);
  }
}

describe("JSON numbers are read to the last bit:", () => {
  test("of any float32, as its shortest text and as a double", () => {
    const texts: string[] = [];
    for (let at = 0; at < scaled(50_000); at++) {
      const float = floatOf((at * 2_654_435_761) >>> 0);
      if (!Number.isFinite(float)) continue;
      texts.push(String(float), float.toPrecision(9), float.toExponential(7));
    }
    expectRead(texts);
    expectRead(
      texts.map((text) => text.replace("e", "E")),
      " ,\n\t",
    );
  });

  test("of all lengths of digits, before and after the point, with any exponent", () => {
    const digits = fc.stringMatching(/^[0-9]{0,24}$/);
    const numbers = fc
      .tuple(
        fc.constantFrom("", "-"),
        fc.oneof(fc.constant("0"), fc.stringMatching(/^[1-9][0-9]{0,21}$/)),
        fc.oneof(
          fc.constant(""),
          digits.map((some) => (some === "" ? "" : `.${some}`)),
        ),
        fc.oneof(
          fc.constant(""),
          fc.tuple(fc.constantFrom("e", "E", "e+", "e-", "E-"), fc.integer({ min: 0, max: 330 })),
          fc.tuple(fc.constantFrom("e-0", "e00"), fc.integer({ min: 0, max: 60 })),
        ),
      )
      .map(([minus, whole, fraction, exponent]) =>
        [minus, whole, fraction, ...(exponent === "" ? [] : exponent)].join(""),
      );
    fc.assert(
      fc.property(
        fc.array(numbers, { minLength: 1, maxLength: 50 }),
        fc.constantFrom(",", ", ", " ,", "\r\n,\t"),
        (texts, separator) => expectRead(texts, separator, '{"data":', "}"),
      ),
      tries(2000),
    );
  });

  test("of random doubles with 15 to 21 digits, as vectors have them", () => {
    let state = 1;
    const random = () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
      return state / 2 ** 31;
    };
    for (const digits of [1, 5, 8, 9, 15, 16, 17, 18, 19, 20, 21]) {
      const texts: string[] = [];
      for (let at = 0; at < scaled(5_000); at++) {
        const number = random() * 10 ** -(at % 12);
        texts.push(number.toPrecision(digits), String(number));
      }
      expectRead(texts);
    }
  });

  test("next to the middle between two float32 numbers", () => {
    const texts: string[] = [];
    for (let at = 0; at < scaled(3_000); at++) {
      const bits = (at * 2_654_435_761) >>> 0;
      if ((bits & 0x7f800000) >= 0x7f000000) continue;
      for (const text of halfway(floatOf(bits))) texts.push(text);
    }
    expectRead(texts);
  });

  test("zeros, subnormal numbers, the ends of the range and beyond", () => {
    const ends = ["0", "-0", "0.0", "-0.0", "0e5", "-0E-999", "0.000000000000000000000000000"];
    const small = [
      "1e-45",
      "7e-46",
      "7.1e-46",
      "1.1754943508222875e-38",
      "1.1754942e-38",
      "-1e-40",
    ];
    const large = ["3.4028234663852886e38", "3.4028235677973366e38", "3.4028235677973365e38"];
    const beyond = ["3.5e38", "-1e39", "1e308", "1e400", "-1e400", "5e-324", "1e-400"];
    const long = [`0.${"0".repeat(5_000)}1`, `${"1".repeat(5_000)}`, `1.${"3".repeat(40_000)}`];
    expectRead([...ends, ...small, ...large, ...beyond, ...long, "1"]);
    expectRead(["16777217", "16777219", "33554434", "9007199254740993", "18446744073709551615"]);
  });

  test("wherever a window of the reader ends", () => {
    const list = Array.from({ length: 9_000 }, (_, at) => String(Math.sin(at)));
    for (let shift = 0; shift < 30; shift++) expectRead(["1".repeat(shift + 1), ...list]);
    expectRead(list, `,${" ".repeat(40_000)}`.slice(0, 40), '["x",');
    expectRead(["1", "2"], `${" ".repeat(70_000)},${" ".repeat(70_000)}`);
  });
});

test("whether all numbers are float32 already is known", () => {
  const exact = Array.from({ length: 500 }, (_, at) => String(Math.fround(Math.sin(at + 1))));
  expect(read(`[${exact.join(",")}]`)?.areFloat32).toBe(true);
  for (const other of ["0.1", "0.012345679", "1e-300", "1e39"])
    expect(read(`[${[...exact, other].join(",")}]`)?.areFloat32).toBe(false);
});

test("what is not a list of numbers is left to JSON.parse", () => {
  const lists = [
    "[1",
    "[1,",
    "[1,2}",
    "[01]",
    "[1.]",
    "[-]",
    "[1e]",
    "[1e+]",
    "[.5]",
    "[+1]",
    "[1,,2]",
  ];
  const others = [
    "[1,null]",
    '[1,"2"]',
    "[1,[2]]",
    "[1 2]",
    "[1,NaN]",
    "[1,Infinity]",
    "[0x1]",
    "[1,]",
  ];
  for (const list of [
    ...lists,
    ...others,
    "[1,2,-]",
    "[1,2e,3]",
    "[--1]",
    "[1-2]",
    "[1.2.3]",
    "[\u00a01]",
  ])
    expect(read(list), list).toBeUndefined();
  const long = Array(20_000).fill("0.25").join(",");
  for (const end of [",x]", ",", "", ",null]", "\u0000]"])
    expect(read(`[${long}${end}`)).toBeUndefined();
});
