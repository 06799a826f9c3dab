/** Detects the type of an image from its first bytes. The type that a client declares is never trusted. */

/** The number of first bytes that the checks below read at most. */
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
