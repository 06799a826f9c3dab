/**
 * Reads the bytes of an image from its file in the child process, so that they never pass through the gateway's
 * memory.
 */
import type { FileHandle } from "node:fs/promises";
import type { FileRange } from "../../../lib/request-temp.ts";
import { UnprocessableImageError } from "./unprocessable-image.ts";

const chunkBytes = 256 * 1024;

export async function readRaw(handle: FileHandle, { from, length }: FileRange): Promise<Buffer> {
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
export async function readBase64(handle: FileHandle, { from, length }: FileRange): Promise<Buffer> {
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
    throw new UnprocessableImageError("undecodable", "is shorter than it was said to be");
  return bytesRead;
}
