/**
 * Holds request bodies of a few megabytes, such as the form of an edit, in memory: one buffer is sent with a fraction of
 * the CPU time of a stream. Larger ones, and those for which the memory is used up, are streamed.
 */
import { GrowingBytes } from "../../lib/byte-memory.ts";
import type { StreamedRequestBody, UpstreamRequest } from "../adapter.ts";

/** A body in memory, which is released after it was sent. */
export interface BodyInMemory extends StreamedRequestBody {
  readonly bytes: Buffer;
  release(): void;
}

export const isBodyInMemory = (body: UpstreamRequest["body"]): body is BodyInMemory =>
  typeof body === "object" && "bytes" in body;

const maxBodyBytes = 4 * 1024 * 1024;
/** Of all requests together. */
const maxBytes = 32 * 1024 * 1024;

export class UploadMemory {
  #freeBytes = maxBytes;

  /** Undefined: the body is not read into memory. */
  read(body: UpstreamRequest["body"]): Promise<BodyInMemory> | undefined {
    if (typeof body !== "object" || isBodyInMemory(body)) return undefined;
    if (body.length > Math.min(maxBodyBytes, this.#freeBytes)) return undefined;
    this.#freeBytes -= body.length;
    return this.#read(body);
  }

  async #read(body: StreamedRequestBody): Promise<BodyInMemory> {
    const { length } = body;
    const memory = new GrowingBytes(length);
    let isReleased = false;
    const release = (): void => {
      if (!isReleased) this.#freeBytes += length;
      isReleased = true;
      memory[Symbol.dispose]();
    };
    try {
      for await (const chunk of body.open()) memory.append(chunk);
    } catch (error) {
      release();
      throw error;
    }
    return { length, bytes: memory.bytes, open: body.open, release };
  }
}
