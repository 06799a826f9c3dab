/** Detects the format and size of an image from its first bytes. */

export interface ImageInfo {
  readonly format: "png" | "jpeg" | "webp";
  readonly width: number;
  readonly height: number;
}

const startsWith = (bytes: Uint8Array, signature: readonly number[], at = 0): boolean =>
  signature.every((byte, i) => bytes[at + i] === byte);

function jpegSize(view: DataView): ImageInfo | undefined {
  for (let at = 2; at + 9 < view.byteLength; ) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame)
      return { format: "jpeg", height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
    at += 2 + view.getUint16(at + 2);
  }
  return undefined;
}

function webpSize(view: DataView): ImageInfo | undefined {
  const kind = String.fromCharCode(view.getUint8(15));
  if (kind === "L") {
    const bits = view.getUint32(21, true);
    return { format: "webp", width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
  }
  if (kind === "X") {
    const three = (at: number) => view.getUint16(at, true) + view.getUint8(at + 2) * 65536 + 1;
    return { format: "webp", width: three(24), height: three(27) };
  }
  return {
    format: "webp",
    width: view.getUint16(26, true) & 0x3fff,
    height: view.getUint16(28, true) & 0x3fff,
  };
}

export function sniff(bytes: Uint8Array): ImageInfo | undefined {
  if (bytes.length < 30) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (startsWith(bytes, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]))
    return { format: "png", width: view.getUint32(16), height: view.getUint32(20) };
  if (startsWith(bytes, [0xff, 0xd8, 0xff])) return jpegSize(view);
  if (startsWith(bytes, [0x52, 0x49, 0x46, 0x46]) && startsWith(bytes, [0x57, 0x45, 0x42, 0x50], 8))
    return webpSize(view);
  return undefined;
}
