/** Hexadecimal digits and line breaks in the framing of chunks, by their byte values. */

export const cr = 0x0d;
export const lf = 0x0a;
/** The value of a hexadecimal digit by its code; 255 for any other byte. */
export const hexDigits = new Uint8Array(256).fill(255);
for (const [value, digit] of [..."0123456789abcdef"].entries()) {
  hexDigits[digit.charCodeAt(0)] = value;
  hexDigits[digit.toUpperCase().charCodeAt(0)] = value;
}
