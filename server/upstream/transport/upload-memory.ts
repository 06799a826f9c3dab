/**
 * Holds request bodies of a few megabytes in memory, such as JSON with images: one buffer is sent with a fraction of
 * the CPU time of a stream. Larger ones, and those for which the memory is used up, are streamed. A form whose files
 * are in memory is so already.
 */
import { GrowingBytes } from "../../lib/byte-memory.ts";
import type { StreamedRequestBody, UpstreamRequest } from "../adapter.ts";

/** A body in memory. `release`: its memory may be released after it was sent. */
export interface BodyInMemory extends StreamedRequestBody {
  readonly chunks: readonly Uint8Array[];
  release?(): void;
}

export const isBodyInMemory = (body: UpstreamRequest["body"]): body is BodyInMemory =>
  typeof body === "object" && "chunks" in body;

const maxBodyBytes = 4 * 1024 * 1024;
/** Of all requests together. */
const maxBytes = 32 * 1024 * 1024;

export class UploadMemory {
  #freeBytes = maxBytes;

  /** Undefined if the body is not read into memory. */
  read(body: UpstreamRequest["body"]): Promise<Required<BodyInMemory>> | undefined {
    if (typeof body !== "object" || isBodyInMemory(body)) return undefined;
    if (body.length > Math.min(maxBodyBytes, this.#freeBytes)) return undefined;
    this.#freeBytes -= body.length;
    return this.#read(body);
  }

  async #read(body: StreamedRequestBody): Promise<Required<BodyInMemory>> {
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
    return { length, chunks: [memory.bytes], open: body.open, release };
  }
}
