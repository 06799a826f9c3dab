/** Reads the head of an image, in memory or spilled to disk: its type, dimensions and alpha channel. */
import { imageSize } from "../lib/image-size.ts";
import { base64Length, StreamedText, toBase64 } from "../lib/json-stream.ts";
import { sniffImage, sniffLength } from "../lib/sniff-image.ts";
import type { LoadedImage as Held } from "../upstream/contract.ts";

export type { Held };

/** The first `bytes` bytes; by default enough to detect the image type. */
export function firstBytes(picture: Held, bytes = sniffLength): Uint8Array {
  if (picture.kind === "bytes") return picture.bytes.subarray(0, bytes);
  if (picture.kind === "base64") {
    return Buffer.from(picture.base64.slice(0, base64Length(bytes)), "base64");
  }
  const { encoding, start } = picture.aside;
  return encoding === "raw" ? start.subarray(0, bytes) : decodeBase64(start, base64Length(bytes));
}

const svgStart = /^\s*(<\?xml|<svg)/;

/** The media type. Undefined where the bytes are not an image. */
export function imageTypeOf(picture: Held): string | undefined {
  const start = firstBytes(picture);
  const type = sniffImage(start);
  if (type) return type;
  return svgStart.test(Buffer.from(start).toString("latin1")) ? "image/svg+xml" : undefined;
}

/** The decoded first bytes, as many as are in memory. */
function headInMemory(picture: Held): Uint8Array {
  if (picture.kind !== "aside") return firstBytes(picture, inMemoryHeadBytes);
  const { encoding, start } = picture.aside;
  return encoding === "raw" ? start : decodeBase64(start, start.length);
}

/** The dimensions: in the first bytes of most formats, after a color profile in some. */
export async function readDimensions(picture: Held): Promise<ReturnType<typeof imageSize>> {
  return imageSize(headInMemory(picture)) ?? imageSize(await readHead(picture, headBytes));
}

/** Whether the image has an alpha channel. Undefined where its head does not tell. */
export async function readAlpha(picture: Held): Promise<boolean | undefined> {
  const { alpha } = imageSize(headInMemory(picture)) ?? {};
  return alpha ?? imageSize(await readHead(picture, headBytes))?.alpha;
}

const inMemoryHeadBytes = 96;
/** A JPEG may contain a long color profile before its dimensions. */
const headBytes = 64 * 1024;

const decodeBase64 = (base64: Uint8Array, length: number): Uint8Array =>
  Buffer.from(
    Buffer.from(base64.buffer, base64.byteOffset, Math.min(length, base64.length)).toString(
      "latin1",
    ),
    "base64",
  );

/** The first bytes, as many as the first chunk contains. */
async function readHead(picture: Held, bytes: number): Promise<Uint8Array> {
  if (picture.kind === "bytes") return picture.bytes.subarray(0, bytes);
  if (picture.kind === "base64") {
    return Buffer.from(picture.base64.slice(0, base64Length(bytes)), "base64");
  }
  const { aside } = picture;
  for await (const piece of aside.stream()) {
    if (aside.encoding === "raw") return piece.slice(0, bytes);
    return decodeBase64(piece, base64Length(bytes));
  }
  return new Uint8Array();
}

export async function readBytes(picture: Held): Promise<Uint8Array> {
  if (picture.kind === "bytes") return picture.bytes;
  if (picture.kind === "base64") return Buffer.from(picture.base64, "base64");
  const bytes = await picture.aside.bytes();
  if (picture.aside.encoding === "raw") return bytes;
  return Buffer.from(Buffer.from(bytes).toString("latin1"), "base64");
}

/** Base64 for a JSON response: a string when the image is in memory, streamed when it is spilled to disk. */
export function toJsonBase64(picture: Held): string | StreamedText {
  if (picture.kind === "base64") return picture.base64;
  if (picture.kind === "bytes") return Buffer.from(picture.bytes).toString("base64");
  const { aside } = picture;
  return aside.encoding === "base64"
    ? new StreamedText(aside.length, () => aside.stream(), { atHand: () => aside.atHand?.() })
    : new StreamedText(base64Length(aside.length), () => toBase64(aside.stream()));
}
