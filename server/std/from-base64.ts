/** Bytes out of base64 that comes in pieces: four characters at a time make three bytes, what is left waits for the next. */

export class NotBase64 extends Error {
  override readonly name = "NotBase64";
}

const alphabet = /^[A-Za-z0-9+/_-]*$/;

/** Line breaks within it mean nothing. Throws NotBase64. */
export async function* fromBase64(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let left = "";
  let padding = 0;
  for await (const piece of pieces) {
    const text = Buffer.from(piece).toString("latin1").replace(/\s+/g, "");
    const content = text.replace(/=+$/, "");
    // The padding is the end: nothing may follow it.
    if (!alphabet.test(content) || (padding > 0 && content !== "")) throw new NotBase64();
    padding += text.length - content.length;
    if (padding > 2) throw new NotBase64();
    const all = left + content;
    const whole = all.length - (all.length % 4);
    if (whole > 0) yield Buffer.from(all.slice(0, whole), "base64");
    left = all.slice(whole);
  }
  if (left.length === 1) throw new NotBase64();
  if (left.length > 1) yield Buffer.from(left, "base64");
}
