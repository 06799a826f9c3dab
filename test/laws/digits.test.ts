/** Every float32 is printed as the shortest decimal that reads back as it. */
import { expect, test } from "bun:test";
import { blockLength, maxTextBytes, printFloats } from "../../server/lib/vector-codec/wasm.ts";
import { scaled } from "../depth.ts";
import { expectCompiled } from "./assembled.ts";

test("digits.wasm is compiled from digits.wat", () =>
  expectCompiled("digits", (text) => text.replace("the powers of ten", powersOfTen())));

/** 10^-31 to 10^45, each scaled by a power of two to exactly 64 bits and rounded up. */
function powersOfTen(): string {
  const from = -31;
  const words = new BigUint64Array(45 - from + 1);
  for (let exponent = from; exponent <= 45; exponent++) {
    const power = 10n ** BigInt(Math.abs(exponent));
    const shift = BigInt(63 - Math.floor(exponent * Math.log2(10)));
    // 10^45 has more than 64 bits; -(-a >> b) rounds up.
    const positive = shift >= 0n ? power << shift : -(-power >> -shift);
    words[exponent - from] = exponent < 0 ? ((1n << shift) - 1n) / power + 1n : positive;
  }
  return Buffer.from(words.buffer).toString("hex").replace(/../g, "\\$&");
}

/** By exact arithmetic: the fewest digits that read back as the float32, and of these decimals the closest. */
function expectedDigits(number: number): string {
  if (!Number.isFinite(number)) return "null";
  if (number === 0) return Object.is(number, -0) ? "-0" : "0";
  const word = wordOf(Math.abs(number));
  const stored = word & 0x7fffff;
  const exponent = word >>> 23;
  // The number is c / 4 * 2^q, the midpoints to its neighbors are (c - below) / 4 * 2^q and (c + 2) / 4 * 2^q.
  const c = 4n * BigInt(exponent === 0 ? stored : stored | 0x800000);
  const q = Math.max(exponent, 1) - 150 - 2;
  const below = stored === 0 && exponent > 1 ? 1n : 2n;
  const isEven = stored % 2 === 0;
  for (let power = Math.floor(Math.log10(Math.abs(number))) + 1; ; power--) {
    // Both sides as integers: c * binary against decimal * ten.
    const binary = (q > 0 ? 1n << BigInt(q) : 1n) * (power < 0 ? 10n ** BigInt(-power) : 1n);
    const ten = (q < 0 ? 1n << BigInt(-q) : 1n) * (power > 0 ? 10n ** BigInt(power) : 1n);
    const floor = (c * binary) / ten;
    const inside = [floor, floor + 1n].filter((decimal) => {
      const low = decimal * ten - (c - below) * binary;
      const high = (c + 2n) * binary - decimal * ten;
      return decimal > 0n && (isEven ? low >= 0n && high >= 0n : low > 0n && high > 0n);
    });
    if (inside.length === 0) continue;
    const distance = (decimal: bigint): bigint => {
      const difference = decimal * ten - c * binary;
      return difference < 0n ? -difference : difference;
    };
    const [one, other = one] = inside as [bigint, bigint?];
    const nearer = distance(one) - distance(other);
    const decimal = nearer < 0n || (nearer === 0n && one % 2n === 0n) ? one : other;
    return String(Math.sign(number) * Number(`${decimal}e${power}`));
  }
}

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
/** The number with these bits, and its neighbors on both sides. */
const beside = (word: number): number[] =>
  [-2, -1, 0, 1, 2].map((step) => floatOf(Math.max(0, word + step)));
const around = (number: number): number[] => beside(wordOf(number));

/** The same numbers in every run. */
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
  ["powers of two and their neighbors", () => upTo(277).flatMap((at) => around(2 ** (at - 149)))],
  ["every exponent", () => upTo(255).flatMap(finite).map(floatOf)],
  ["the smallest and the largest", () => [1, 0x800000, 0x7f7fffff].map(floatOf)],
  ["integers", () => upTo(3000)],
  ["integers next to 2^24", () => upTo(100).map((at) => 2 ** 24 - 50 + at)],
  ["powers of ten and their neighbors", () => upTo(84).flatMap((at) => around(10 ** (at - 45)))],
  ["where exponents begin", () => [1e-7, 1e-6, 1e20, 1e21, 1e22].flatMap(around)],
  ["short decimals", () => upTo(5000).map((at) => at / 1000)],
  ["binary fractions", () => upTo(4096).map((at) => at / 4096)],
  ["halfway between two decimals", () => upTo(5000).map((at) => 512 + (2 * at + 1) / 2 ** 14)],
  [
    "what embeddings are made of",
    () => random(scaled(60_000), (word) => (word / 2 ** 32 - 0.5) * 0.4),
  ],
  ["a little above 1e-6", () => random(scaled(30_000), (word) => 1e-6 * (1 + word / 2 ** 32))],
  ["random bits", () => random(scaled(60_000), floatOf)],
];

/** Between bytes that must not change. */
function printed(numbers: Float32Array): string {
  const [at, maxBytes] = [7, maxTextBytes(numbers.length)];
  const into = Buffer.alloc(at + maxBytes + 100, 0xee);
  const end = printFloats(numbers, into, at);
  expect(end - at).toBeLessThanOrEqual(maxBytes);
  const untouched = Buffer.alloc(into.length - end, 0xee);
  expect(into.subarray(0, at).equals(untouched.subarray(0, at))).toBe(true);
  expect(into.subarray(end).equals(untouched)).toBe(true);
  return into.toString("latin1", at, end);
}

function expectDigits(numbers: Float32Array): void {
  const expected = Array.from(numbers, expectedDigits);
  const text = printed(numbers);
  if (text === `[${expected.join(",")}]`) return;
  // Only the differences: the whole text would be too long to read.
  const found = text.slice(1, -1).split(",");
  const indexes = upTo(Math.max(found.length, expected.length));
  const differs = indexes.filter((at) => found[at] !== expected[at]).slice(0, 10);
  expect(differs.map((at) => found[at])).toEqual(differs.map((at) => expected[at]));
  expect(text.at(0)).toBe("[");
  expect(text.at(-1)).toBe("]");
}

test.each(cases)(
  "a number is printed as the shortest text that is the same float32: %s",
  (_, numbers) => {
    const ofOneSign = Float32Array.from(numbers());
    expectDigits(ofOneSign);
    expectDigits(ofOneSign.map((number) => -number));
  },
);

const ends = [1, 2, 3].map((blocks) => blocks * blockLength);
const lengths = [0, 1, 2, 1536, ...ends.flatMap((end) => [end - 1, end, end + 1])];
test.each(lengths)(
  "of %d numbers none is lost, and no number of an earlier run remains",
  (length) => {
    expectDigits(random(length, floatOf));
    expectDigits(new Float32Array(length).fill(0.5));
    expectDigits(random(length + 3, floatOf).subarray(3));
  },
);

test("the longest numbers fit into the buffer", () => {
  const large = random(blockLength * 2, (word) => -(2 ** 66) * (1 + word / 2 ** 32));
  const longest = large.filter((number) => expectedDigits(number).length === 22);
  expect(longest.length).toBeGreaterThan(blockLength);
  expectDigits(longest);
  expect(printed(longest).length).toBe(maxTextBytes(longest.length) - 1);
  const exact = new Uint8Array(maxTextBytes(longest.length));
  expect(printFloats(longest, exact, 0)).toBe(exact.length - 1);
});

test("numbers that are not finite are printed as null, as by JSON.stringify", () => {
  const words = [0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0xffffffff];
  const numbers = new Float32Array(Uint32Array.from([0x3f800000, ...words, 0xbf800000]).buffer);
  expectDigits(numbers);
  expect(printed(numbers)).toBe(JSON.stringify([...numbers]));
});

test("the text reads back as the same float32, directly and by way of a double", () => {
  const numbers = random(scaled(60_000), floatOf).filter(Number.isFinite);
  expect(Float32Array.from(JSON.parse(printed(numbers)))).toEqual(numbers);
});

test("a float32 whose shortest text rounds to its neighbor when read as a double gets one more digit", () => {
  const number = Float32Array.of(floatOf(0x15ae43fd));
  expect(printed(number)).toBe("[7.0385307e-26]");
  expect(Float32Array.from(JSON.parse(printed(number)))).toEqual(number);
});

test("a decimal of up to six digits is printed with the characters it was written with", () => {
  const decimals = [...random(scaled(60_000), (word) => word % 1_000_000)].map(
    (digits) => digits / 1e6,
  );
  expect(printed(Float32Array.from(decimals))).toBe(`[${decimals.map(String).join(",")}]`);
});
