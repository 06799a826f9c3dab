/**
 * Finds a C2PA manifest (Content Credentials) by the headers of an image file: decoding and encoding removes it, and it
 * would no longer be valid. Containers as in the C2PA specification, "Embedding manifests into various file formats".
 */
import type { ImageInput } from "./image-input.ts";
import { pngChunks } from "./png-chunks.ts";

export function hasManifest(file: ImageInput, type: string): boolean {
  return finders[type]?.(file) ?? false;
}

const finders: Readonly<Record<string, (file: ImageInput) => boolean>> = {
  "image/png": inPng,
  "image/jpeg": inJpeg,
  "image/webp": inWebp,
  "image/gif": inGif,
  "image/avif": inAvif,
};

/** Encoders write a manifest near the start. A file of many small parts is not searched to its end. */
const maxParts = 10_000;

function inPng(file: ImageInput): boolean {
  let parts = 0;
  for (const { kind } of pngChunks(file)) {
    if (kind === "caBX") return true;
    if (++parts > maxParts) return false;
  }
  return false;
}

/** An APP11 segment with a JUMBF box, whose description names C2PA. It precedes the pixel data. */
function inJpeg({ peek }: ImageInput): boolean {
  for (let at = 2, parts = 0; parts < maxParts; parts++) {
    const head = peek(at, 64);
    const marker = head[1];
    if (head.length < 4 || head[0] !== 0xff || marker === 0xda || marker === 0xd9) return false;
    if (marker === 0xff) {
      at += 1;
      continue;
    }
    const text = marker === 0xeb ? head.toString("latin1") : "";
    if (text.startsWith("JP", 4) && text.includes("jumb") && text.includes("c2pa")) return true;
    at += 2 + Math.max(2, head.readUInt16BE(2));
  }
  return false;
}

function inWebp({ length, peek }: ImageInput): boolean {
  for (let at = 12, parts = 0; at + 8 <= length && parts < maxParts; parts++) {
    const head = peek(at, 8);
    if (head.length < 8) return false;
    if (head.toString("latin1", 0, 4) === "C2PA") return true;
    const size = head.readUInt32LE(4);
    at += 8 + size + (size % 2);
  }
  return false;
}

/** An application extension before the first frame. */
function inGif({ length, peek }: ImageInput): boolean {
  const flags = peek(10, 1)[0] ?? 0;
  const colors = flags >= 128 ? 3 * 2 ** ((flags % 8) + 1) : 0;
  for (let at = 13 + colors, parts = 0; at < length && parts < maxParts; parts++) {
    const head = peek(at, 11).toString("latin1");
    if (head[0] !== "!") return false;
    if (head.startsWith("\u00ff\u000bC2PA_GIF", 1)) return true;
    at += 2;
    for (let size = sizeAt(at); size > 0 && at < length; size = sizeAt(at)) at += size + 1;
    at += 1;
  }
  return false;

  function sizeAt(at: number): number {
    return peek(at, 1)[0] ?? 0;
  }
}

/** A box of the type `uuid` with this id, beside the boxes of the image. */
const manifestBox = "d8fec3d61b0e483c92975828877ec481";

function inAvif({ length, peek }: ImageInput): boolean {
  for (let at = 0, parts = 0; at + 8 <= length && parts < maxParts; parts++) {
    const head = peek(at, 24);
    if (head.length < 8) return false;
    const isUuid = head.toString("latin1", 4, 8) === "uuid";
    if (isUuid && head.toString("hex", 8, 24) === manifestBox) return true;
    const size = head.readUInt32BE(0);
    // 0: the last box. 1: a long box, whose length follows its type.
    if (size === 1 && head.length >= 16) at += Number(head.readBigUInt64BE(8));
    else if (size >= 8) at += size;
    else return false;
  }
  return false;
}
