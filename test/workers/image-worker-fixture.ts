/** Fixture of the image worker and preflight tests: images, uploads, and a list of child processes. */
import { tmpdir } from "node:os";
import { deflateSync } from "node:zlib";
import sharp, { type Sharp } from "sharp";
import { sniffImage } from "../../server/lib/sniff-image.ts";
import { createRequestTemp } from "../../server/temp-storage/request-temp.ts";
import { UnlinkedTempFile } from "../../server/temp-storage/unlinked-temp-file.ts";
import type { FilePart, ImageContent } from "../../server/upstream/contract.ts";
import {
  createImageWorker,
  type ImageWorkerOptions,
} from "../../server/workers/image/image-worker.ts";
import type { ImageWorkerRequest } from "../../server/workers/image/messages.ts";
import type { ToChild } from "../../server/workers/process/protocol.ts";
import { type Child, type Spawn, spawn } from "../../server/workers/process/worker-process.ts";
import { closeAfterEach } from "../clean-up.ts";

export { expectError, never } from "./built-in-fixture.ts";

/** Temp files in it are unlinked, so that none is left after a test. */
export const folder = tmpdir();
export const newRequestTemp = () => createRequestTemp(folder);

export type Channels = 1 | 2 | 3 | 4;

/** The same noise each time. It cannot be compressed, so files are as large as their pixels. */
export function speckled(width: number, height: number, channels: Channels) {
  const pixels = new Uint8Array(width * height * channels);
  let state = 0x2545f491;
  for (let i = 0; i < pixels.length; i++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    pixels[i] = state & 255;
  }
  return pixels;
}

export const generated = (
  pixels: Uint8Array,
  width: number,
  height: number,
  channels: Channels,
): Sharp => sharp(pixels, { raw: { width, height, channels } });

export const speckledPng = (width: number, height: number, channels: Channels = 4) =>
  generated(speckled(width, height, channels), width, height, channels)
    .png()
    .toBuffer();

export const inBytes = (bytes: Uint8Array): Extract<ImageContent, { kind: "bytes" }> => ({
  kind: "bytes",
  bytes,
});

export async function bytesIn(image: ImageContent): Promise<Uint8Array> {
  if (image.kind === "bytes") return image.bytes;
  if (image.kind === "spilled") return image.spilled.bytes();
  throw new Error("The image is not here.");
}

export const pixelsOf = async (bytes: Uint8Array) => {
  const { data, info } = await sharp(bytes).raw().toBuffer({ resolveWithObject: true });
  return { pixels: new Uint8Array(data), ...info };
};

/** A small file of a form, which is in memory. */
export const upload = (bytes: Uint8Array, field = "image", filename = "a.png"): FilePart => ({
  field,
  filename,
  type: sniffImage(bytes) ?? "application/octet-stream",
  size: bytes.length,
  stream: () => new Blob([bytes as Uint8Array<ArrayBuffer>]).stream(),
  bytes: async () => bytes,
});

/** A large file of a form, which is on disk. Reading it in this process fails. */
export async function uploadOnDisk(bytes: Uint8Array, field = "image") {
  const file = await UnlinkedTempFile.create(folder);
  file.append(bytes);
  const { path } = file;
  const read = () => {
    throw new Error("A large upload was read in the gateway's own process.");
  };
  const part = {
    ...upload(bytes, field),
    ...(path && { path }),
    keepOpen: () => file.keepOpen(),
    stream: read,
    bytes: read,
  };
  return { part, close: () => file.close() };
}

/** One bit for each pixel, all of them black: a few kilobytes, whatever the size. */
export function blackPng(width: number, height: number): Uint8Array {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.writeUInt8(1, 8);
  const rows = deflateSync(Buffer.alloc((Math.ceil(width / 8) + 1) * height), { level: 9 });
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    chunk("IHDR", head),
    chunk("IDAT", rows),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

export function chunk(kind: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(kind, "latin1"), content]);
  const frame = Buffer.alloc(8 + named.length);
  frame.writeUInt32BE(content.length, 0);
  named.copy(frame, 4);
  frame.writeUInt32BE(Bun.hash.crc32(named), 4 + named.length);
  return frame;
}

/**
 * A gray progressive JPEG of `size` by `size` pixels, with `scans` scans over the whole image, of about forty bytes
 * each. `size` is a multiple of 8.
 */
export function jpegWithScans(size: number, scans: number): Uint8Array {
  const blocks = (size / 8) ** 2;
  const segment = (marker: number, ...content: number[]) =>
    Buffer.from([0xff, marker, (content.length + 2) >> 8, (content.length + 2) & 255, ...content]);
  const edge = [size >> 8, size & 255];
  // One code of one bit: for the first coefficient "no difference", for the others "nothing in the next 16,384 blocks".
  const oneCode = [1, ...new Array<number>(15).fill(0)];
  const first = [segment(0xda, 1, 1, 0, 0, 0, 0), Buffer.alloc(Math.ceil(blocks / 8))];
  const runs = Math.ceil(blocks / 16_384);
  const scan = Buffer.concat([
    segment(0xda, 1, 1, 0, 1, 63, 0),
    Buffer.alloc(Math.ceil((runs * 15) / 8)),
  ]);
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xdb, 0, ...new Array<number>(64).fill(1)),
    segment(0xc2, 8, ...edge, ...edge, 1, 1, 0x11, 0),
    segment(0xc4, 0x00, ...oneCode, 0x00),
    segment(0xc4, 0x10, ...oneCode, 0xe0),
    ...first,
    ...new Array<Buffer>(scans - 1).fill(scan),
    Buffer.from([0xff, 0xd9]),
  ]);
}

type ChildMessage = ToChild<unknown, ImageWorkerRequest>;

/**
 * Real worker processes, observed from outside: their number and their requests. `lost`: how many of the first requests
 * do not reach a process.
 */
export function watched(lost = 0) {
  const living = new Set<Pick<Child, "pid" | "kill">>();
  const requests: ImageWorkerRequest[] = [];
  let open = 0;
  const most = { processes: 0, jobs: 0 };
  const start: Spawn = (entry, onMessage, more) => {
    let mine = 0;
    const receive = (message: unknown) => {
      if ((message as { readonly last?: boolean }).last) {
        open -= 1;
        mine -= 1;
      }
      onMessage(message);
    };
    const child = spawn(entry, receive, more);
    living.add(child);
    most.processes = Math.max(most.processes, living.size);
    void child.exited.then(() => {
      living.delete(child);
      open -= mine;
    });
    return {
      ...child,
      send: (message) => {
        const reported = message as ChildMessage;
        if (reported.type === "request") {
          requests.push(reported.request);
          open += 1;
          mine += 1;
          most.jobs = Math.max(most.jobs, open);
          if (requests.length <= lost) return;
        }
        child.send(message);
      },
    };
  };
  return { spawn: start, living, requests, most };
}

/** Starts image workers, each with temp storage and observed processes, that end with the test. */
export function imageWorkers() {
  const closeAfterTest = closeAfterEach();
  return ({ lost = 0, ...options }: ImageWorkerOptions & { lost?: number } = {}) => {
    const watcher = watched(lost);
    const worker = createImageWorker({ spawn: watcher.spawn, ...options });
    const temp = newRequestTemp();
    closeAfterTest(worker, { close: () => temp.clear() });
    return { worker, watcher, temp };
  };
}
