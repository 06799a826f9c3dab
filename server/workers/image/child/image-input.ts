/**
 * An image as input of the image library. If a file contains exactly the image, the library reads that file while it
 * decodes, and an image of 50 MB is never in memory as a whole; otherwise its bytes are read first.
 */
import { readSync } from "node:fs";
import { access, type FileHandle, open } from "node:fs/promises";
import type { FileRange } from "../../../lib/request-temp.ts";
import type { SentImage } from "../messages.ts";
import { readBase64, readRaw } from "./read-input.ts";
import { UnprocessableImageError } from "./unprocessable-image.ts";

export interface ImageInput {
  /** Bytes, or the path of a file that stays open until the work is done. */
  readonly input: Buffer | string;
  readonly length: number;
  /** Reads some bytes, fewer at the end. They are valid until the next call. */
  peek(from: number, length: number): Buffer;
}

export async function withImageInput<T>(
  sent: SentImage,
  work: (image: ImageInput) => Promise<T>,
): Promise<T> {
  if (sent.kind === "bytes") {
    const { buffer, byteOffset, length } = sent.bytes;
    return work(inMemory(Buffer.from(buffer, byteOffset, length)));
  }
  const { range, encoding } = sent;
  const handle = await open(range.path, "r").catch((cause: unknown) => {
    throw new UnprocessableImageError("unreachable", "cannot be reached", cause);
  });
  try {
    if (encoding === "base64") return await work(inMemory(await readBase64(handle, range)));
    const path = await descriptorPath(handle, range);
    return await work(
      path === undefined
        ? inMemory(await readRaw(handle, range))
        : inFile(path, handle.fd, range.length),
    );
  } finally {
    await handle.close();
  }
}

/**
 * A path to the open file descriptor, so that the file at the sent path may change. Absent where the file contains
 * more or less than the image, or where the system has no such paths.
 */
async function descriptorPath(
  handle: FileHandle,
  { from, length }: FileRange,
): Promise<string | undefined> {
  if (process.platform !== "linux" || from !== 0) return undefined;
  const found = await handle.stat();
  if (!found.isFile() || found.size !== length) return undefined;
  const path = `/proc/self/fd/${handle.fd}`;
  return access(path).then(
    () => path,
    () => undefined,
  );
}

export const inMemory = (bytes: Buffer): ImageInput => ({
  input: bytes,
  length: bytes.length,
  peek: (from, length) => bytes.subarray(from, from + length),
});

/** Small enough to skip pixel data, large enough that a file of tiny chunks does not need a system call for each. */
const windowBytes = 16 * 1024;

function inFile(path: string, fd: number, length: number): ImageInput {
  let room = Buffer.alloc(0);
  let seen = { from: 0, to: 0 };
  return {
    input: path,
    length,
    peek: (from, wanted) => {
      const to = Math.min(from + wanted, length);
      if (from < seen.from || to > seen.to) {
        if (room.length < wanted) room = Buffer.allocUnsafe(Math.max(windowBytes, wanted));
        const window = Math.max(windowBytes, wanted);
        seen = { from, to: from + readSync(fd, room, 0, window, from) };
      }
      return room.subarray(from - seen.from, Math.min(to, seen.to) - seen.from);
    },
  };
}
