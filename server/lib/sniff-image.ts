/** Detects the type and the size of an image from its first bytes. The type that a client declares is never trusted. */

/** The number of first bytes that is enough for `sniffImage`. */
export const sniffLength = 16;

const ascii = (bytes: Uint8Array, from: number, to: number): string =>
  String.fromCharCode(...bytes.subarray(from, to));

export function sniffImage(bytes: Uint8Array): string | undefined {
  if (bytes.length < 3) return undefined;
  if (bytes[0] === 0x89 && ascii(bytes, 1, 8) === "PNG\r\n\u001a\n") return "image/png";
  if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return "image/jpeg";
  if (ascii(bytes, 0, 4) === "RIFF" && ascii(bytes, 8, 12) === "WEBP") return "image/webp";
  if (/^GIF8[79]a$/.test(ascii(bytes, 0, 6))) return "image/gif";
  if (ascii(bytes, 4, 8) === "ftyp" && /^(avif|avis)$/.test(ascii(bytes, 8, 12)))
    return "image/avif";
  return undefined;
}

const extensions: Readonly<Record<string, string>> = {
  "image/png": "png",
  "image/jpeg": "jpg",
  "image/webp": "webp",
  "image/gif": "gif",
  "image/avif": "avif",
  "image/svg+xml": "svg",
};

export const extensionOf = (type: string): string => extensions[type] ?? "bin";

const typesByExtension = new Map(Object.entries(extensions).map(([type, name]) => [name, type]));

export const typeOfExtension = (extension: string): string =>
  typesByExtension.get(extension) ?? "application/octet-stream";

interface ImageSize {
  readonly type: string;
  /** As stored: EXIF may ask for a rotation. */
  readonly width: number;
  readonly height: number;
  /** Whether it can have transparent pixels. Absent if unknown from these bytes. */
  readonly alpha?: boolean;
}

type Found = Omit<ImageSize, "type"> | undefined;

/**
 * Reads the size of an image from its header. Nothing is decoded, so it costs little, and a malicious image does no
 * harm. The header of an untrusted file may be wrong: only decoding verifies the size. `start`: the first bytes, as
 * many as available. 64 bytes are enough for PNG, WebP and GIF, some hundreds for AVIF; a JPEG may hold thumbnails and
 * profiles of many kilobytes before its size.
 */
export function imageSize(start: Uint8Array): ImageSize | undefined {
  const type = sniffImage(start);
  const found = type === undefined ? undefined : readers[type]?.(start);
  // A number beyond the end of the bytes is NaN, and every comparison with NaN is false.
  if (type === undefined || !found || !(found.width > 0) || !(found.height > 0)) return undefined;
  return { type, ...found };
}

const readers: Readonly<Record<string, (bytes: Uint8Array) => Found>> = {
  "image/png": png,
  "image/jpeg": jpeg,
  "image/webp": webp,
  "image/gif": gif,
  "image/avif": avif,
};

const byte = (bytes: Uint8Array, at: number): number => bytes[at] ?? Number.NaN;
const big16 = (bytes: Uint8Array, at: number): number =>
  byte(bytes, at) * 256 + byte(bytes, at + 1);
const big32 = (bytes: Uint8Array, at: number): number =>
  big16(bytes, at) * 65_536 + big16(bytes, at + 2);
const little16 = (bytes: Uint8Array, at: number): number =>
  byte(bytes, at) + byte(bytes, at + 1) * 256;
const little24 = (bytes: Uint8Array, at: number): number =>
  little16(bytes, at) + byte(bytes, at + 2) * 65_536;
const name = (bytes: Uint8Array, at: number): string => ascii(bytes, at, at + 4);

function png(bytes: Uint8Array): Found {
  const kind = byte(bytes, 25);
  const alpha = kind === 4 || kind === 6 ? true : transparentColor(bytes);
  return {
    width: big32(bytes, 16),
    height: big32(bytes, 20),
    ...(alpha !== undefined && { alpha }),
  };
}

/** An image without an alpha channel may declare a transparent color before the pixel data. */
function transparentColor(bytes: Uint8Array): boolean | undefined {
  for (let at = 33; at + 8 <= bytes.length; at += 12 + big32(bytes, at)) {
    const chunk = name(bytes, at + 4);
    if (chunk === "tRNS") return true;
    if (chunk === "IDAT") return false;
  }
  return undefined;
}

function jpeg(bytes: Uint8Array): Found {
  for (let at = 2; byte(bytes, at) === 0xff; ) {
    const marker = byte(bytes, at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) {
      return { width: big16(bytes, at + 7), height: big16(bytes, at + 5), alpha: false };
    }
    // The pixel data begins, or the image ends, before the size was found.
    if (marker === 0xda || marker === 0xd9) return undefined;
    const hasNoLength = marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7);
    if (marker === 0xff) at += 1;
    else at += hasNoLength ? 2 : 2 + big16(bytes, at + 2);
  }
  return undefined;
}

function webp(bytes: Uint8Array): Found {
  const kind = name(bytes, 12);
  if (kind === "VP8X") {
    const alpha = Math.floor(byte(bytes, 20) / 16) % 2 === 1;
    return { width: little24(bytes, 24) + 1, height: little24(bytes, 27) + 1, alpha };
  }
  if (kind === "VP8 ") {
    const [width, height] = [little16(bytes, 26) % 16_384, little16(bytes, 28) % 16_384];
    return { width, height, alpha: false };
  }
  if (kind !== "VP8L") return undefined;
  // Width minus one and height minus one, 14 bits each, then one bit for transparency.
  const [low, high] = [little16(bytes, 21), little16(bytes, 23)];
  return {
    width: (low % 16_384) + 1,
    height: Math.floor(low / 16_384) + (high % 4096) * 4 + 1,
    alpha: Math.floor(high / 4096) % 2 === 1,
  };
}

function gif(bytes: Uint8Array): Found {
  const flags = byte(bytes, 10);
  const colors = flags >= 128 ? 3 * 2 ** ((flags % 8) + 1) : 0;
  const alpha = transparentIndex(bytes, 13 + colors);
  return {
    width: little16(bytes, 6),
    height: little16(bytes, 8),
    ...(alpha !== undefined && { alpha }),
  };
}

/** An extension before the first frame declares whether one of its colors is transparent. */
function transparentIndex(bytes: Uint8Array, from: number): boolean | undefined {
  for (let at = from; at < bytes.length; ) {
    if (byte(bytes, at) === 0x2c) return false;
    if (byte(bytes, at) !== 0x21) return undefined;
    if (byte(bytes, at + 1) === 0xf9) {
      const packed = byte(bytes, at + 3);
      return Number.isNaN(packed) ? undefined : packed % 2 === 1;
    }
    at += 2;
    while (byte(bytes, at) > 0) at += byte(bytes, at) + 1;
    at += 1;
  }
  return undefined;
}

interface Box {
  readonly kind: string;
  readonly from: number;
  readonly to: number;
}

function* boxes(bytes: Uint8Array, from: number, to: number): Generator<Box> {
  for (let at = from; at + 8 <= Math.min(to, bytes.length); ) {
    const length = big32(bytes, at);
    if (length < 8) return;
    yield { kind: name(bytes, at + 4), from: at + 8, to: at + length };
    at += length;
  }
}

const within = (bytes: Uint8Array, { from, to }: Box, kind: string, skipped = 0): Box | undefined =>
  boxes(bytes, from + skipped, to).find((box) => box.kind === kind);

/** The properties are in a list. Tiles, thumbnails and the alpha plane have sizes too; the image's is the largest. */
function avif(bytes: Uint8Array): Found {
  const all = { kind: "", from: 0, to: bytes.length };
  const meta = within(bytes, all, "meta");
  const properties = meta && within(bytes, meta, "iprp", 4);
  const list = properties && within(bytes, properties, "ipco");
  if (!list) return undefined;
  let [width, height, alpha] = [0, 0, false];
  for (const { kind, from, to } of boxes(bytes, list.from, list.to)) {
    if (kind === "auxC") {
      alpha ||= Buffer.from(bytes.subarray(from + 4, to)).includes("alpha");
    } else if (kind === "ispe") {
      const [wide, high] = [big32(bytes, from + 4), big32(bytes, from + 8)];
      if (wide * high > width * height) [width, height] = [wide, high];
    }
  }
  // A truncated list may have had more entries.
  return list.to > bytes.length ? undefined : { width, height, alpha };
}
