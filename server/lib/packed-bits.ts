/** Vectors of bits: one for each dimension, eight in a byte, the first dimension in the highest bit. */

/** A number that is not negative is 1. Throws if the length is not a multiple of 8. */
export function packBits(numbers: Float32Array): Uint8Array {
  if (numbers.length % 8 !== 0) throw new RangeError(`${numbers.length} bits are not whole bytes`);
  const bytes = new Uint8Array(numbers.length / 8);
  for (let at = 0; at < bytes.length; at++) {
    let byte = 0;
    for (let bit = at * 8; bit < at * 8 + 8; bit++)
      byte = (byte << 1) | ((numbers[bit] as number) >= 0 ? 1 : 0);
    bytes[at] = byte;
  }
  return bytes;
}

/** For a vendor that puts the first dimension into the lowest bit. */
export const reverseBits = (bytes: Uint8Array): Uint8Array => bytes.map(reverseByte);

function reverseByte(byte: number): number {
  let reversed = 0;
  for (let bit = 0; bit < 8; bit++) reversed |= ((byte >> bit) & 1) << (7 - bit);
  return reversed;
}
