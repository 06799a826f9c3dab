/**
 * Finds the head of the next request in the bytes of a connection. Buffers the bytes that belong to no request yet: the
 * start of a head, or pipelined requests. Caches the last head.
 */

import {
  firstStream,
  Http2Unsupported,
  http2HeadersMs,
  isWholePreface,
  startsHttp2,
} from "./http2.ts";
import { checkFirstBytes, headTooLarge, maxHeadBytes, RequestHead } from "./parse-head.ts";

const headEnd = Buffer.from("\r\n\r\n");
const noBytes = Buffer.alloc(0);
/** How much of pipelined requests is buffered while one is being handled. */
const maxPipelinedBytes = 64 * 1024;
/**
 * A head up to this size is cached: on a keep-alive connection, most clients send the same head again. A larger one
 * would cost each idle connection three times its size.
 */
const maxCachedBytes = 2 * 1024;

export class HeadReader {
  #buffered: Buffer = noBytes;
  #bodyStart = 0;
  #rest: Buffer = noBytes;
  #cachedHead: RequestHead | undefined;
  #cachedBytes: Buffer = noBytes;

  /** The last head, for some seconds after its request. */
  get lastHead(): RequestHead | undefined {
    return this.#cachedHead;
  }

  get hasBufferedBytes(): boolean {
    return this.#buffered.length > 0;
  }

  /** The socket has to be paused until pipelined requests are read. */
  get isFull(): boolean {
    return this.#buffered.length > maxPipelinedBytes;
  }

  /** Buffers pipelined requests. */
  buffer(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#buffered = this.hasBufferedBytes ? Buffer.concat([this.#buffered, bytes]) : bytes;
  }

  /** Drops the buffered bytes. */
  clear(): void {
    this.#buffered = noBytes;
  }

  /**
   * Called about once a second for a connection that has been idle for `idleMs`. Returns an error for an HTTP/2 client
   * that has sent its preface and no request.
   */
  checkIdle(idleMs: number, headCacheMs: number): Http2Unsupported | undefined {
    if (idleMs > headCacheMs) this.#clearCache();
    const isLate = idleMs > http2HeadersMs && isWholePreface(this.#buffered);
    return isLate ? new Http2Unsupported(0) : undefined;
  }

  #clearCache(): void {
    this.#cachedHead = undefined;
    this.#cachedBytes = noBytes;
  }

  /**
   * Reads the next head from the buffered bytes and these. Undefined while the head has not arrived whole. Throws
   * GatewayError.
   */
  read(more: Buffer): RequestHead | undefined {
    this.buffer(more);
    const bytes = this.#buffered;
    const head = this.#find(bytes);
    if (head) this.#buffered = noBytes;
    this.#rest = head && bytes.length > this.#bodyStart ? bytes.subarray(this.#bodyStart) : noBytes;
    return head;
  }

  /** More bytes of the body, or of pipelined requests, have arrived before the rest was taken. */
  addRest(bytes: Buffer): void {
    this.#rest = this.#rest.length > 0 ? Buffer.concat([this.#rest, bytes]) : bytes;
  }

  /** Takes the bytes after the head that was read last: its body, and pipelined requests. */
  takeRest(): Buffer {
    const rest = this.#rest;
    this.#rest = noBytes;
    return rest;
  }

  #find(bytes: Buffer): RequestHead | undefined {
    const cached = this.#cachedBytes;
    if (
      this.#cachedHead &&
      bytes.length >= cached.length &&
      cached.compare(bytes, 0, cached.length) === 0
    ) {
      this.#bodyStart = cached.length;
      return this.#cachedHead;
    }
    let start = 0;
    // Some clients send a line break after the body, beyond its content-length.
    while (start < 8 && bytes[start] === 0x0d && bytes[start + 1] === 0x0a) start += 2;
    // POST and PUT are told apart from PRI, the start of HTTP/2, by their second byte.
    if (bytes[start] === 0x50 && bytes[start + 1] === 0x52 && startsHttp2(bytes.subarray(start))) {
      const stream = firstStream(bytes.subarray(start));
      if (stream !== undefined) throw new Http2Unsupported(stream);
      if (bytes.length > maxHeadBytes) throw headTooLarge();
      return undefined;
    }
    const end = bytes.indexOf(headEnd, start);
    if (end >= 0 && end - start <= maxHeadBytes) {
      this.#bodyStart = end + headEnd.length;
      return this.#parse(bytes, start, end);
    }
    // The last bytes may be the start of the empty line.
    const length = bytes.length - start - (headEnd.length - 1);
    const error = length > maxHeadBytes ? headTooLarge() : checkFirstBytes(bytes, start);
    if (error) throw error;
    return undefined;
  }

  #parse(bytes: Buffer, start: number, end: number): RequestHead {
    this.#clearCache();
    const head = new RequestHead(bytes.toString("latin1", start, end));
    if (this.#bodyStart - start <= maxCachedBytes) {
      this.#cachedHead = head;
      this.#cachedBytes = Buffer.from(bytes.subarray(start, this.#bodyStart));
    }
    return head;
  }
}
