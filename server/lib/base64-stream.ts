/** Bytes out of base64 that comes in pieces: four characters at a time make three bytes, what is left waits for the next. */
import { decodeBlocks } from "./codec/base64.ts";

export class InvalidBase64 extends Error {
  override readonly name = "NotBase64";
}

/**
 * Line breaks within it mean nothing. Each piece lives only until the next is asked for: they come out of one room, as
 * pieces of their own would pile up faster than they are collected. Throws NotBase64.
 */
export async function* decodeBase64Stream(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  let room = new Uint8Array();
  let left: Uint8Array = room;
  const careful = new CarefulReading();
  for await (const piece of pieces) {
    const signs = left.length + piece.length;
    if (room.length < signs) room = new Uint8Array(signs);
    const taken = careful.isAtEnd ? 0 : decodeBlocks([left, piece], room);
    if (taken > 0) {
      left = lastOf(left, piece, signs - taken);
      yield room.subarray(0, (taken / 4) * 3);
      continue;
    }
    // There are few of them, or there is more in it than plain signs.
    const bytes = careful.read(Buffer.concat([left, piece]));
    left = careful.left;
    if (bytes.length > 0) yield bytes;
  }
  const bytes = careful.read(left);
  if (bytes.length > 0) yield bytes;
  const last = careful.end();
  if (last.length > 0) yield last;
}

/** Copied: a piece lives only until the next is asked for. */
const lastOf = (before: Uint8Array, piece: Uint8Array, length: number): Uint8Array =>
  piece.length >= length
    ? new Uint8Array(piece.subarray(piece.length - length))
    : Buffer.concat([before, piece]).subarray(-length);

const alphabet = /^[A-Za-z0-9+/_-]*$/;

class CarefulReading {
  #left = "";
  #padding = 0;

  /** The padding is the end: nothing may follow it. */
  get isAtEnd(): boolean {
    return this.#padding > 0;
  }

  /** To stand before what comes next. */
  get left(): Uint8Array {
    return Buffer.from(this.#left, "latin1");
  }

  /** `signs`: with what was left before. */
  read(signs: Uint8Array): Uint8Array {
    const text = Buffer.from(signs).toString("latin1").replace(/\s+/g, "");
    const content = text.replace(/=+$/, "");
    const follows = this.isAtEnd && content !== this.#left;
    if (!alphabet.test(content) || follows) throw new InvalidBase64();
    this.#padding += text.length - content.length;
    if (this.#padding > 2) throw new InvalidBase64();
    const whole = content.length - (content.length % 4);
    this.#left = content.slice(whole);
    return Buffer.from(content.slice(0, whole), "base64");
  }

  end(): Uint8Array {
    if (this.#left.length === 1) throw new InvalidBase64();
    return Buffer.from(this.#left, "base64");
  }
}
