/** Finds the head of the next request in the bytes of a connection, and caches the last head. */

import { firstStream, Http2Unsupported, startsHttp2 } from "./http2.ts";
import { checkFirstBytes, headTooLarge, maxHeadBytes, RequestHead } from "./parse-head.ts";

const headEnd = Buffer.from("\r\n\r\n");
const noBytes = Buffer.alloc(0);
/**
 * A head up to this size is cached: on a keep-alive connection, most clients send the same head again. A larger one would
 * cost each idle connection three times its size.
 */
const maxCachedBytes = 2 * 1024;

export class HeadReader {
  /** Where the body begins in the bytes that were read last. */
  bodyStart = 0;
  #head: RequestHead | undefined;
  #headBytes: Buffer = noBytes;

  /** Undefined while the head has not arrived whole. Throws GatewayError. */
  read(bytes: Buffer): RequestHead | undefined {
    const cached = this.#headBytes;
    if (
      this.#head &&
      bytes.length >= cached.length &&
      cached.compare(bytes, 0, cached.length) === 0
    ) {
      this.bodyStart = cached.length;
      return this.#head;
    }
    let start = 0;
    // Some clients send a line break after the body, beyond its content-length.
    while (start < 8 && bytes[start] === 0x0d && bytes[start + 1] === 0x0a) start += 2;
    if (bytes[start] === 0x50 && startsHttp2(bytes.subarray(start))) {
      const stream = firstStream(bytes.subarray(start));
      if (stream !== undefined) throw new Http2Unsupported(stream);
      if (bytes.length > maxHeadBytes) throw headTooLarge();
      return undefined;
    }
    const end = bytes.indexOf(headEnd, start);
    if (end >= 0 && end - start <= maxHeadBytes) {
      this.bodyStart = end + headEnd.length;
      return this.#parse(bytes, start, end);
    }
    // The last bytes may be the start of the empty line.
    const length = bytes.length - start - (headEnd.length - 1);
    const error = length > maxHeadBytes ? headTooLarge() : checkFirstBytes(bytes, start);
    if (error) throw error;
    return undefined;
  }

  /** Called for a connection that is idle. */
  clearCache(): void {
    this.#head = undefined;
    this.#headBytes = noBytes;
  }

  #parse(bytes: Buffer, start: number, end: number): RequestHead {
    this.clearCache();
    const head = new RequestHead(bytes.toString("latin1", start, end));
    if (this.bodyStart - start <= maxCachedBytes) {
      this.#head = head;
      this.#headBytes = Buffer.from(bytes.subarray(start, this.bodyStart));
    }
    return head;
  }
}
