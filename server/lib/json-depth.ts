/**
 * JSON of strangers, no deeper than anybody needs. JSON.parse takes twenty times as long for a deep text as for a flat one,
 * and every function that walks through the value afterwards needs a stack as deep as the value. So what is nested too
 * deep is replaced by null before it is parsed: all around it can still be read.
 */

/** No API has more than a dozen. */
export const maxJsonDepth = 64;

const quote = 0x22;
const backslash = 0x5c;
const nullText = Buffer.from("null");

/** So many characters at a time are looked at before others have a turn: about a millisecond. */
const sliceLength = 128 * 1024;

/** Takes JSON piece by piece, and gives the same without what is too deep. Strings may be cut anywhere. */
export class DepthFilter {
  readonly #max: number;
  #depth = 0;
  #inString = false;
  /** The piece before ended within a string, with an odd number of backslashes. */
  #isEscaped = false;

  constructor(max = maxJsonDepth) {
    this.#max = max;
  }

  /** The piece itself where nothing is taken out of it. */
  push(piece: Uint8Array): Uint8Array {
    const kept: Uint8Array[] = [];
    /** Where that begins which is kept; -1 while nothing is. */
    let from = this.#depth > this.#max ? -1 : 0;
    for (let at = 0; at < piece.length; at++) {
      if (this.#inString) {
        at = this.#endOfString(piece, at);
        continue;
      }
      const code = piece[at] as number;
      if (code === quote) this.#inString = true;
      // `[` and `{`, `]` and `}` differ in one bit.
      else if ((code | 0x20) === 0x7b) {
        this.#depth += 1;
        if (this.#depth !== this.#max + 1) continue;
        kept.push(piece.subarray(from, at), nullText);
        from = -1;
      } else if ((code | 0x20) === 0x7d) {
        this.#depth -= 1;
        if (this.#depth === this.#max) from = at + 1;
      }
    }
    if (from === 0) return piece;
    if (from > 0) kept.push(piece.subarray(from));
    return Buffer.concat(kept);
  }

  /** Where the string ends that is open, or the piece. */
  #endOfString(piece: Uint8Array, from: number): number {
    let at = from;
    for (;;) {
      const end = piece.indexOf(quote, at);
      const until = end < 0 ? piece.length : end;
      let slashes = 0;
      while (until - slashes > from && piece[until - slashes - 1] === backslash) slashes += 1;
      const carried = until - slashes === from && this.#isEscaped ? 1 : 0;
      const isEscaped = (slashes + carried) % 2 === 1;
      this.#isEscaped = end < 0 && isEscaped;
      if (end < 0) return piece.length;
      if (!isEscaped) {
        this.#inString = false;
        return end;
      }
      at = end + 1;
    }
  }
}

const openings = ["[", "{"] as const;

/** Whether a text could be deeper: it opens more than so many lists and objects. Quicker than to look at each. */
function opensMoreThan(text: string, max: number): boolean {
  let left = max;
  for (const sign of openings) {
    for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1)) {
      if (--left < 0) return true;
    }
  }
  return false;
}

export function isTooDeep(text: string, max = maxJsonDepth): boolean {
  if (!opensMoreThan(text, max)) return false;
  const signs = /["[\]{}]/g;
  let depth = 0;
  for (let found = signs.exec(text); found; found = signs.exec(text)) {
    const code = text.charCodeAt(found.index);
    if (code === quote) {
      const end = endOfString(text, found.index + 1);
      if (end < 0) return false;
      signs.lastIndex = end + 1;
    } else if ((code | 0x20) === 0x7b) {
      depth += 1;
      if (depth > max) return true;
    } else depth -= 1;
  }
  return false;
}

function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from); end >= 0; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (end - slashes > from && text.charCodeAt(end - slashes - 1) === backslash) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return -1;
}

/** As JSON.parse, with null in the place of what is too deep. Lets others have a turn while it takes out much. */
export async function parseShallow(text: string): Promise<unknown> {
  return JSON.parse(isTooDeep(text) ? await shallow(text) : text);
}

async function shallow(text: string): Promise<string> {
  const filter = new DepthFilter();
  const bytes = Buffer.from(text);
  const kept: Uint8Array[] = [];
  for (let from = 0; from < bytes.length; from += sliceLength) {
    if (from > 0) await new Promise<void>((resolve) => setImmediate(resolve));
    kept.push(filter.push(bytes.subarray(from, from + sliceLength)));
  }
  return Buffer.concat(kept).toString();
}
