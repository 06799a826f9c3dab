/**
 * Reads lists of JSON numbers from the bytes of a document into float32: each number is the one that `JSON.parse` and
 * `Math.fround` return. Parsing numbers is most of the work of a response with vectors as numbers, and WebAssembly
 * needs a tenth of the time of `JSON.parse`, which reads what the WebAssembly code does not.
 */

import { instantiateFile } from "./wasm.ts";

interface DecimalsExports {
  readonly memory: WebAssembly.Memory;
  read(at: number, end: number, to: number): number;
}

/** Powers of ten that the WebAssembly code reads, from 10^0. */
const powers = 64;
/** Where it stores the end of the numbers, and whether one of them is not a float32. */
const resultsAt = 512;
const textAt = 1024;
/** Bytes of the document that are read at a time: at most a tenth of a millisecond. */
const windowBytes = 32 * 1024;
/** After the text: a zero byte, and bytes that are read with it. */
const numbersAt = textAt + windowBytes + 64;
/** A number of more bytes may be cut by the end of a window. */
const maxNumberBytes = 64;

/** Built when the first list is read: most upstreams send base64. */
let reader: ReturnType<typeof createReader> | undefined;

function createReader() {
  const { memory, read } = instantiateFile<DecimalsExports>("decimals.wasm");
  const table = new Float64Array(memory.buffer, 0, powers);
  for (let power = 0; power < powers; power++) table[power] = Number(`1e${power}`);
  return {
    read,
    results: new Int32Array(memory.buffer, resultsAt, 2),
    bytes: new Uint8Array(memory.buffer),
    floats: new Float32Array(memory.buffer, numbersAt),
  };
}

export interface NumberList {
  readonly numbers: Float32Array;
  /** The offset after the closing bracket. */
  readonly end: number;
  /** Whether every number is a float32 already: with all its digits, it has no other value. */
  readonly areFloat32: boolean;
}

/**
 * The numbers of several lists share a buffer: to allocate each list takes ten times as long. It is in memory until
 * none of its lists is in use.
 */
let shared = new Float32Array(0);
const sharedNumbers = 64 * 1024;

function copyNumbers(numbers: Float32Array): Float32Array {
  if (numbers.length > shared.length)
    shared = new Float32Array(Math.max(sharedNumbers, numbers.length));
  const copy = shared.subarray(0, numbers.length);
  copy.set(numbers);
  shared = shared.subarray(numbers.length);
  return copy;
}

/** Windows that are read in one step. */
const windowsPerStep = 8;

/**
 * Reads the list whose first number is at `from`, or after spaces there. Undefined if it is not a list of numbers, or
 * not valid JSON. Yields while a long list is read.
 */
export function* readNumbers(
  document: Buffer,
  from: number,
): Generator<void, NumberList | undefined> {
  const chunks: Float32Array[] = [];
  let areFloat32 = true;
  let at = from;
  for (let windows = 1; ; windows++) {
    const found = readWindow(document, at);
    if (!found) return undefined;
    chunks.push(found.numbers);
    areFloat32 &&= found.areFloat32;
    at = found.end;
    if (found.isLast) return { numbers: joined(chunks), end: at, areFloat32 };
    if (windows % windowsPerStep === 0) yield;
  }
}

/** Reads the numbers of a list from an offset on. `isLast`: up to the closing bracket. */
function readWindow(
  document: Buffer,
  from: number,
): (NumberList & { readonly isLast: boolean }) | undefined {
  reader ??= createReader();
  const { read, results, bytes, floats } = reader;
  const length = Math.min(windowBytes, document.length - from);
  document.copy(bytes, textAt, from, from + length);
  bytes[textAt + length] = 0;
  const isWhole = from + length === document.length;
  const until = isWhole ? length : length - maxNumberBytes;
  let areFloat32 = true;
  let isLast = false;
  let position = 0;
  let count = 0;
  for (;;) {
    position = read(textAt + position, textAt + length, numbersAt + 4 * count) - textAt;
    count = ((results[0] as number) - numbersAt) / 4;
    areFloat32 &&= results[1] === 0;
    isLast = position > 0 && bytes[textAt + position - 1] === closeBracket;
    if (isLast || position > until) break;
    const number = readNumber(document, from + position);
    if (!number) return undefined;
    floats[count++] = number.value;
    areFloat32 &&= Math.fround(number.value) === number.value;
    position = number.end - from;
    isLast = number.isLast;
    if (isLast || position > until) break;
  }
  return {
    numbers: copyNumbers(floats.subarray(0, count)),
    end: from + position,
    areFloat32,
    isLast,
  };
}

const [space, tab, lineFeed, carriageReturn] = [0x20, 0x09, 0x0a, 0x0d];
const [comma, closeBracket] = [0x2c, 0x5d];

const isSpace = (byte: number | undefined): boolean =>
  byte === space || byte === lineFeed || byte === carriageReturn || byte === tab;

/** The characters of numbers. */
const ofNumbers = new Uint8Array(256);
for (const character of "0123456789+-.eE") ofNumbers[character.charCodeAt(0)] = 1;

/** Reads one number with `JSON.parse`, and the comma or the closing bracket after it. */
function readNumber(
  document: Buffer,
  from: number,
): { readonly value: number; readonly end: number; readonly isLast: boolean } | undefined {
  let start = from;
  while (isSpace(document[start])) start++;
  let end = start;
  while (ofNumbers[document[end] ?? 0] === 1) end++;
  let after = end;
  while (isSpace(document[after])) after++;
  const isLast = document[after] === closeBracket;
  if (!isLast && document[after] !== comma) return undefined;
  try {
    const value = JSON.parse(document.toString("latin1", start, end)) as number;
    return { value, end: after + 1, isLast };
  } catch {
    return undefined;
  }
}

function joined(chunks: readonly Float32Array[]): Float32Array {
  const [first] = chunks;
  if (first && chunks.length === 1) return first;
  const numbers = new Float32Array(chunks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const chunk of chunks) {
    numbers.set(chunk, at);
    at += chunk.length;
  }
  return numbers;
}
