/** Texts and spaces of JSON as bytes: where a text ends, its escape sequences, and long runs of spaces. */
import { invalidResponse } from "../../invalid-response.ts";

const quote = 0x22;
const slash = 0x2f;
const digitZero = 0x30;
const backslash = 0x5c;
const letterN = 0x6e;
const letterR = 0x72;
const letterU = 0x75;
const space = 0x20;

interface EndOfText {
  /** The offset of the closing quote, or of the bytes that must be read together with the next chunk. */
  readonly end: number;
  /** False: the chunk ends within the text. */
  readonly isWhole: boolean;
}

/** The end of a text that begins before `from`, where no escape sequence is open. */
export function endOfText(chunk: Uint8Array, from: number): EndOfText {
  const quoteAt = chunk.indexOf(quote, from);
  const end = quoteAt < 0 ? chunk.length : quoteAt;
  const escapeAt = chunk.subarray(from, end).indexOf(backslash);
  // The usual case, base64: found by the native search.
  if (escapeAt < 0) return { end, isWhole: quoteAt >= 0 };
  for (let at = from + escapeAt; at < chunk.length; at++) {
    const byte = chunk[at];
    if (byte === quote) return { end: at, isWhole: true };
    if (byte !== backslash) continue;
    const length = chunk[at + 1] === letterU ? 6 : 2;
    if (at + length > chunk.length) return { end: at, isWhole: false };
    at += length - 1;
  }
  return { end: chunk.length, isWhole: false };
}

/**
 * A long text, which must be base64, without its escapes: some serializers escape every slash, or characters that are
 * special in HTML, such as `=`; line breaks within base64 are ignored. Without escapes, the same bytes are returned.
 */
export function withoutEscapes(bytes: Uint8Array): Uint8Array {
  let at = bytes.indexOf(backslash);
  if (at < 0) return bytes;
  const text = new Uint8Array(bytes);
  let length = at;
  for (; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte !== backslash) {
      text[length++] = byte;
      continue;
    }
    const escaped = bytes[++at];
    if (escaped === slash) text[length++] = slash;
    else if (escaped === letterU) {
      text[length++] = asciiAt(bytes, at + 1);
      at += 4;
    } else if (escaped !== letterN && escaped !== letterR) throw notBase64();
  }
  return text.subarray(0, length);
}

/** The character of `\u003d`, whose digits begin at `at`. */
function asciiAt(bytes: Uint8Array, at: number): number {
  const isLatin = bytes[at] === digitZero && bytes[at + 1] === digitZero;
  const code = 16 * digitOf(bytes[at + 2]) + digitOf(bytes[at + 3]);
  if (!isLatin || !(code < 0x80)) throw notBase64();
  return code;
}

const digitOf = (byte: number | undefined): number =>
  Number.parseInt(String.fromCharCode(byte ?? quote), 16);

const notBase64 = () => invalidResponse("a long text in it is not base64");

/** Shorter JSON is kept as it is. */
const longBytes = 1024;

/** A copy of JSON outside of texts, with one space for each run of spaces: they take memory, and time to parse. */
export function withoutLongSpaces(bytes: Uint8Array): Uint8Array {
  const text = new Uint8Array(bytes);
  if (bytes.length < longBytes) return text;
  let length = 0;
  let wasSpace = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    const isSpace = byte === space || byte === 0x0a || byte === 0x0d || byte === 0x09;
    if (!isSpace) text[length++] = byte;
    else if (!wasSpace) text[length++] = space;
    wasSpace = isSpace;
  }
  return length < bytes.length ? text.slice(0, length) : text;
}
