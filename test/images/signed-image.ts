/** Images with a C2PA manifest at the place that each format has for it. The manifest itself is made up. */
import { crc32 } from "node:zlib";

export type SignedFormat = "png" | "jpeg" | "webp" | "gif" | "avif";

/** A JUMBF superbox whose description names C2PA. */
function manifestOf(thumbnailBytes: number): Buffer {
  const uuid = Buffer.from("63327061" + "00110010800000aa00389b71", "hex");
  const description = box("jumd", Buffer.concat([uuid, Buffer.from("\x03c2pa\0", "latin1")]));
  return box("jumb", Buffer.concat([description, box("free", Buffer.alloc(thumbnailBytes, 7))]));
}

/** The same image with a manifest, most of which are thumbnails. */
export function sign(image: Uint8Array, format: SignedFormat, thumbnailBytes = 2000): Buffer {
  const bytes = Buffer.from(image);
  const manifest = manifestOf(thumbnailBytes);
  switch (format) {
    case "png":
      return insert(bytes, 33, pngChunk("caBX", manifest));
    case "jpeg":
      return insert(bytes, 2, jpegSegments(manifest));
    case "webp": {
      const even =
        manifest.length % 2 === 0 ? manifest : Buffer.concat([manifest, Buffer.alloc(1)]);
      const head = Buffer.alloc(8);
      head.write("C2PA", 0, "latin1");
      head.writeUInt32LE(manifest.length, 4);
      const signed = Buffer.concat([bytes, head, even]);
      signed.writeUInt32LE(signed.length - 8, 4);
      return signed;
    }
    case "gif": {
      const flags = bytes[10] ?? 0;
      const at = 13 + (flags >= 128 ? 3 * 2 ** ((flags % 8) + 1) : 0);
      const blocks: Buffer[] = [Buffer.from("!\u00ff\x0bC2PA_GIF\x01\0\0", "latin1")];
      for (let from = 0; from < manifest.length; from += 255) {
        const part = manifest.subarray(from, from + 255);
        blocks.push(Buffer.from([part.length]), part);
      }
      return insert(bytes, at, Buffer.concat([...blocks, Buffer.from([0])]));
    }
    case "avif": {
      const id = Buffer.from("d8fec3d61b0e483c92975828877ec481", "hex");
      return Buffer.concat([bytes, box("uuid", Buffer.concat([id, manifest]))]);
    }
  }
}

function box(kind: string, content: Uint8Array): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + content.length, 0);
  head.write(kind, 4, "latin1");
  return Buffer.concat([head, content]);
}

function pngChunk(kind: string, content: Uint8Array): Buffer {
  const checked = Buffer.concat([Buffer.from(kind, "latin1"), content]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(content.length, 0);
  checksum.writeUInt32BE(crc32(checked), 0);
  return Buffer.concat([length, checked, checksum]);
}

/** A segment has at most 65,535 bytes. Each one repeats the head of the box. */
function jpegSegments(manifest: Buffer): Buffer {
  const segments: Buffer[] = [];
  const head = manifest.subarray(0, 8);
  for (let from = 8; from < manifest.length; from += 65_000) {
    const number = u16(segments.length + 1);
    const start = Buffer.concat([Buffer.from("JP\0\x01\0\0", "latin1"), number, head]);
    const content = Buffer.concat([start, manifest.subarray(from, from + 65_000)]);
    segments.push(Buffer.concat([Buffer.from([0xff, 0xeb]), u16(content.length + 2), content]));
  }
  return Buffer.concat(segments);
}

const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff]);
const insert = (bytes: Buffer, at: number, part: Buffer): Buffer =>
  Buffer.concat([bytes.subarray(0, at), part, bytes.subarray(at)]);
