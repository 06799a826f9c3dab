/** Numbers are printed as JavaScript prints them, by each of the ways in which they are printed. */
import { describe, expect, test } from "bun:test";
import {
  blockLength,
  mostBytes,
  printFloats,
  printInJavaScript,
} from "../../server/std/numbers/digits.ts";
import { expectAssembled } from "./assembled.ts";

test("what is run is what is written", () =>
  expectAssembled("digits", (text) => text.replace("the rows", rows())));

/** The powers of ten, as digits.wat describes them: too slow to compute at every start. */
function rows(): string {
  const from = -61;
  const words = new BigUint64Array((22 - from + 1) * 8);
  const part = (1n << 37n) - 1n;
  // No float32 number is closer than 2^-28 to an end of its interval, or than 2^-32 to where it
  // would be rounded the other way, unless it is there. In rounding, less than 2^-42 is lost.
  const slack = 1n << (60n - 40n);
  for (let k = from; k <= 22; k++) {
    const q = Math.ceil(k * Math.log2(10));
    const power = 10n ** BigInt(Math.abs(k));
    const shift = BigInt(q + 29 + 81);
    // Rounded up, so that an integer is not taken for a little less.
    const scale = k > 0 ? ((1n << shift) - 1n) / power + 1n : -(-power << shift);
    const ofHalf = scale >> (30n + 81n - 60n);
    const ofLeft = (scale >> (81n - 33n)) / 10n ** 8n;
    const row = [scale & part, (scale >> 37n) & part, scale >> 74n, ofHalf + slack, ofLeft];
    words.set([...row, BigInt.asUintN(64, BigInt(q))], (k - from) * 8);
  }
  return Buffer.from(words.buffer).toString("hex").replace(/../g, "\\$&");
}

type Print = (numbers: Float32Array, into: Uint8Array, at: number) => number;

const ways: readonly (readonly [string, Print])[] = [
  ["in WebAssembly", printFloats],
  ["in JavaScript", printInJavaScript],
];

/** What JavaScript prints, but JSON has a negative zero, and nothing for what is not finite. */
const wanted = (number: number): string =>
  Object.is(number, -0) ? "-0" : Number.isFinite(number) ? String(number) : "null";

const bits = new Uint32Array(1);
const bitsAsFloat = new Float32Array(bits.buffer);

function floatOf(word: number): number {
  bits[0] = word;
  return bitsAsFloat[0] as number;
}

function wordOf(number: number): number {
  bitsAsFloat[0] = number;
  return bits[0] as number;
}

const upTo = (end: number): number[] => Array.from({ length: end }, (_, at) => at);
/** The number with these bits, and those next to it on both sides. */
const beside = (word: number): number[] =>
  [-2, -1, 0, 1, 2].map((step) => floatOf(Math.max(0, word + step)));
const around = (number: number): number[] => beside(wordOf(number));

/** The same ones every time. */
function random(count: number, pick: (word: number) => number): Float32Array {
  let state = 0x9e3779b9;
  return new Float32Array(count).map(() => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return pick(state >>> 0);
  });
}

const marks = [0x000001, 0x3fffff, 0x400000, 0x400001, 0x7fffff];
const finite = (exponent: number): number[] => marks.map((mark) => (exponent << 23) | mark);

const cases: readonly (readonly [string, () => Iterable<number>])[] = [
  ["zeros", () => [0, -0, 1, -0, 0]],
  ["powers of two and their neighbours", () => upTo(277).flatMap((at) => around(2 ** (at - 149)))],
  ["every exponent", () => upTo(255).flatMap(finite).map(floatOf)],
  ["the smallest and the largest", () => [1, 0x800000, 0x7f7fffff].map(floatOf)],
  ["integers", () => upTo(3000)],
  ["integers next to 2^24", () => upTo(100).map((at) => 2 ** 24 - 50 + at)],
  ["powers of ten and their neighbours", () => upTo(84).flatMap((at) => around(10 ** (at - 45)))],
  ["where exponents begin", () => [1e-7, 1e-6, 1e20, 1e21, 1e22].flatMap(around)],
  ["short decimals", () => upTo(5000).map((at) => at / 1000)],
  ["binary fractions", () => upTo(4096).map((at) => at / 4096)],
  ["halfway between two decimals", () => upTo(5000).map((at) => 512 + (2 * at + 1) / 2 ** 14)],
  ["what embeddings are made of", () => random(100_000, (word) => (word / 2 ** 32 - 0.5) * 0.4)],
  ["a little above 1e-6", () => random(10_000, (word) => 1e-6 * (1 + word / 2 ** 32))],
  ["bits by chance", () => random(200_000, floatOf)],
];

describe.each(ways)("%s", (_, print) => {
  /** Between bytes that must stay what they are. */
  function printed(numbers: Float32Array): string {
    const [at, room] = [7, mostBytes(numbers.length)];
    const into = Buffer.alloc(at + room + 100, 0xee);
    const end = print(numbers, into, at);
    expect(end - at).toBeLessThanOrEqual(room);
    const untouched = Buffer.alloc(into.length - end, 0xee);
    expect(into.subarray(0, at).equals(untouched.subarray(0, at))).toBe(true);
    expect(into.subarray(end).equals(untouched)).toBe(true);
    return into.toString("latin1", at, end);
  }

  function expectWanted(numbers: Float32Array): void {
    const expected = Array.from(numbers, wanted);
    const text = printed(numbers);
    if (text === `[${expected.join(",")}]`) return;
    // Only what differs: the whole would be too long to read.
    const found = text.slice(1, -1).split(",");
    const places = upTo(Math.max(found.length, expected.length));
    const differs = places.filter((at) => found[at] !== expected[at]).slice(0, 10);
    expect(differs.map((at) => found[at])).toEqual(differs.map((at) => expected[at]));
    expect(text.at(0)).toBe("[");
    expect(text.at(-1)).toBe("]");
  }

  test.each(cases)("a number is printed exactly as JavaScript prints it: %s", (_, numbers) => {
    const ofOneSign = Float32Array.from(numbers());
    expectWanted(ofOneSign);
    expectWanted(ofOneSign.map((number) => -number));
  });

  const ends = [1, 2, 3].map((blocks) => blocks * blockLength);
  const lengths = [0, 1, 2, 1536, ...ends.flatMap((end) => [end - 1, end, end + 1])];
  test.each(lengths)("none of %d numbers is lost, and none is left from before", (length) => {
    expectWanted(random(length, floatOf));
    expectWanted(new Float32Array(length).fill(0.5));
    expectWanted(random(length + 3, floatOf).subarray(3));
  });

  test("the longest numbers have room", () => {
    const small = random(blockLength * 2, (word) => -1e-6 * (1 + word / 2 ** 32));
    const alike = small.filter((number) => wanted(number).length === 25);
    expectWanted(alike);
    expect(printed(alike).length).toBe(mostBytes(alike.length) - 1);
    const exact = new Uint8Array(mostBytes(alike.length));
    expect(print(alike, exact, 0)).toBe(exact.length - 1);
  });

  test("what is not finite is null, as JSON.stringify has it", () => {
    const words = [0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff];
    const numbers = new Float32Array(Uint32Array.from([1, ...words, 0x80000001]).buffer);
    expectWanted(numbers);
    expect(printed(numbers)).toBe(JSON.stringify([...numbers]));
  });

  test("what is printed is read as the same numbers", () => {
    const numbers = random(20_000, floatOf).filter(Number.isFinite);
    expect(Float32Array.from(JSON.parse(printed(numbers)))).toEqual(numbers);
  });
});
