/** Finds the head of the next request in the bytes of a connection. */

import { firstStream, Http2Unsupported, startsHttp2 } from "./http2.ts";
import { checkFirstBytes, headTooLarge, maxHeadBytes, RequestHead } from "./parse-head.ts";

const headEnd = Buffer.from("\r\n\r\n");
const nothing = Buffer.alloc(0);
/**
 * A head up to this size is remembered: clients that keep their connection mostly send the same head again. A larger
 * one would cost each idle connection three times its size.
 */
const mostRememberedBytes = 2 * 1024;

export class HeadReader {
  /** Where the body begins in the bytes that were read last. */
  bodyStart = 0;
  #head: RequestHead | undefined;
  #headBytes: Buffer = nothing;

  /** Undefined while the head has not arrived whole. Throws GatewayError. */
  read(bytes: Buffer): RequestHead | undefined {
    const same = this.#headBytes;
    if (this.#head && bytes.length >= same.length && same.compare(bytes, 0, same.length) === 0) {
      this.bodyStart = same.length;
      return this.#head;
    }
    let start = 0;
    // Some clients send a line break after a body, which its length does not count.
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
    // The last bytes may be the first of the empty line.
    const length = bytes.length - start - (headEnd.length - 1);
    const refused = length > maxHeadBytes ? headTooLarge() : checkFirstBytes(bytes, start);
    if (refused) throw refused;
    return undefined;
  }

  /** Called for a connection that is idle. */
  clearCache(): void {
    this.#head = undefined;
    this.#headBytes = nothing;
  }

  #parse(bytes: Buffer, start: number, end: number): RequestHead {
    this.clearCache();
    const head = new RequestHead(bytes.toString("latin1", start, end));
    if (this.bodyStart - start <= mostRememberedBytes) {
      this.#head = head;
      this.#headBytes = Buffer.from(bytes.subarray(start, this.bodyStart));
    }
    return head;
  }
}
