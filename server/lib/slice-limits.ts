/** Limits on one slice of a large JSON body, which is decoded and parsed at once. */
import { isAscii } from "node:buffer";

const backslash = 0x5c;
const letterU = 0x75;

/** The limits of what makes a slice expensive to parse. */
export interface SliceLimits {
  /** Characters (UTF-16 code units), if one of them is not ASCII: then each takes two bytes. */
  readonly wideCharacters: number;
  /** Escape sequences, each of which takes as long as ten characters. */
  readonly escapes: number;
}

/** The limit that a slice exceeds. Slices with fewer bytes than `wideCharacters` are not examined. */
export function exceededLimit(
  slice: Buffer,
  { wideCharacters, escapes }: SliceLimits,
): keyof SliceLimits | undefined {
  if (slice.length <= wideCharacters) return undefined;
  const isPlain = !slice.includes(backslash);
  if (isPlain && isAscii(slice)) return undefined;
  let isWide = false;
  let characters = 0;
  let escaped = 0;
  for (let at = 0; at < slice.length; at++, characters++) {
    const byte = slice[at] as number;
    if (byte === backslash) {
      const isUnicode = slice[at + 1] === letterU;
      at += isUnicode ? 5 : 1;
      isWide ||= isUnicode;
      if (++escaped > escapes) return "escapes";
    } else if (byte >= 0x80) {
      isWide = true;
      // A character of four bytes is two code units; a byte that continues a character is none.
      if (byte >= 0xf0) characters++;
      else if (byte < 0xc0) characters--;
    }
    if (isWide && characters >= wideCharacters) return "wideCharacters";
  }
  return undefined;
}
