/**
 * An image as input of the image library. If a file contains exactly the image, the library reads that file while it
 * decodes, and an image of 50 MB is never in memory as a whole; otherwise its bytes are read first.
 */
import { readSync } from "node:fs";
import { access, type FileHandle, open } from "node:fs/promises";
import type { FileRange } from "../../../temp-storage/request-temp.ts";
import type { FailureReason, SentImage } from "../messages.ts";

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

const inMemory = (bytes: Buffer): ImageInput => ({
  input: bytes,
  length: bytes.length,
  peek: (from, length) => bytes.subarray(from, from + length),
});

/** Small enough to skip pixel data, large enough that a file of tiny chunks does not need a system call for each. */
const windowBytes = 16 * 1024;

function inFile(path: string, fd: number, length: number): ImageInput {
  let buffer = Buffer.alloc(0);
  /** The range of the file that `buffer` holds. */
  let buffered = { from: 0, to: 0 };
  return {
    input: path,
    length,
    peek: (from, needed) => {
      const to = Math.min(from + needed, length);
      if (from < buffered.from || to > buffered.to) {
        const window = Math.max(windowBytes, needed);
        if (buffer.length < needed) buffer = Buffer.allocUnsafe(window);
        buffered = { from, to: from + readSync(fd, buffer, 0, window, from) };
      }
      return buffer.subarray(from - buffered.from, Math.min(to, buffered.to) - buffered.from);
    },
  };
}

const chunkBytes = 256 * 1024;

/**
 * Reads the bytes of an image from its file in the child process, so that they never pass through the gateway's
 * memory.
 */
async function readRaw(handle: FileHandle, { from, length }: FileRange): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  for (let done = 0; done < length; ) {
    done += await readSome(handle, bytes.subarray(done), from + done);
  }
  return bytes;
}

/**
 * Decodes base64 while reading: groups of four characters make three bytes, and an incomplete group waits for the next
 * chunk.
 */
async function readBase64(handle: FileHandle, { from, length }: FileRange): Promise<Buffer> {
  const decoded = Buffer.allocUnsafe(Math.ceil(length / 4) * 3);
  const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, length));
  let size = 0;
  let left = "";
  for (let done = 0; done < length; ) {
    const target = chunk.subarray(0, Math.min(chunk.length, length - done));
    const read = await readSome(handle, target, from + done);
    done += read;
    const text = left + chunk.toString("latin1", 0, read).replace(/\s+/g, "");
    const whole = done < length ? text.length - (text.length % 4) : text.length;
    size += decoded.write(text.slice(0, whole), size, "base64");
    left = text.slice(whole);
  }
  return decoded.subarray(0, size);
}

async function readSome(handle: FileHandle, into: Buffer, from: number): Promise<number> {
  const { bytesRead } = await handle.read(into, 0, into.length, from);
  if (bytesRead === 0)
    throw new UnprocessableImageError("undecodable", "is shorter than its declared length");
  return bytesRead;
}

/** An image that the worker cannot process. The gateway maps it to an error of the client or of the upstream. */
export class UnprocessableImageError extends Error {
  override readonly name = "UnprocessableImageError";
  readonly reason: FailureReason;

  /** `problem`: completes a sentence that begins with "the image". */
  constructor(reason: FailureReason, problem: string, cause?: unknown) {
    super(problem, { cause });
    this.reason = reason;
  }
}
