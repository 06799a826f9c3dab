/**
 * HTTP/1.1 parser of the request head: finds the head of the next request in the bytes of a connection, and parses its
 * request line and headers. A head that is too large gets 431. Strict where a proxy and the gateway could otherwise
 * disagree on where a request ends (request smuggling), such as both Content-Length and Transfer-Encoding.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import { trimOptionalWhitespace } from "../../lib/http1.ts";
import { checkFirstBytes, invalidHttp } from "./refuse-client.ts";

/** Maximum size of the request line and all headers together. No common client sends more. */
const maxHeadBytes = 16 * 1024;

const requestLine = /^([!#$%&'*+.^_`|~\dA-Za-z-]{1,32}) ([!-~\x80-\xff]+) HTTP\/1\.([01])(?=\r|$)/;
/** Refuses ambiguous header lines: folded lines, lines that end with a bare CR or LF, and a space before the colon. */
const headerLines = /^[^\r\n]*(?:\r\n[!#$%&'*+.^_`|~\dA-Za-z-]+:[\t\x20-\x7e\x80-\xff]*)*$/;

/**
 * Matches `keep-alive` only as a whole list element. For `close` a match within a longer word is harmless; here it is
 * not.
 */
const keepAlive = /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/;

/** Body framing: chunked coding, or the length of the body. */
export type Framing = "chunked" | number;

export class ParsedHead {
  readonly method: string;
  /** As it was sent: still percent-encoded, without a trailing slash. */
  readonly path: string;
  /** The query string with its question mark. Empty without one. */
  readonly search: string;
  readonly framing: Framing;
  /** The client may send another request on the same connection. */
  readonly isKeepAlive: boolean;
  /** False for HTTP/1.0, which has no chunked coding. */
  readonly supportsChunked: boolean;
  /** `expect: 100-continue`: the client sends the body after an interim response. */
  readonly expectsContinue: boolean;
  readonly #text: string;
  /** In lower case. */
  readonly #lowerCase: string;
  /** The headers that were read so far: on a keep-alive connection, one head serves many requests. */
  readonly #read = new Map<string, string | null>();

  /** `text`: the head without the empty line at its end, in latin1. Throws GatewayError. */
  constructor(text: string) {
    const [, method, target, minor] = requestLine.exec(text) ?? [];
    if (method === undefined || target === undefined)
      throw invalidHttp("the request line is malformed");
    if (!headerLines.test(text)) throw invalidHttp("a header is malformed");
    this.#text = text;
    this.#lowerCase = text.toLowerCase();
    this.method = method;
    const path = pathOf(target);
    const mark = path.indexOf("?");
    this.search = mark < 0 ? "" : path.slice(mark);
    this.path = withoutTrailingSlash(refuseDotSegments(mark < 0 ? path : path.slice(0, mark)));
    this.supportsChunked = minor === "1";
    this.framing = this.#framing();
    const connection = this.get("connection")?.toLowerCase() ?? "";
    this.isKeepAlive =
      !/\bclose\b/.test(connection) && (this.supportsChunked || keepAlive.test(connection));
    // Ignored in HTTP/1.0: clients of that version would take the interim response for the final one.
    const expected = this.supportsChunked ? this.get("expect") : null;
    this.expectsContinue = expected !== null && expected.toLowerCase() === "100-continue";
    if (expected !== null && !this.expectsContinue) {
      throw invalidHttp(`the expectation '${expected.slice(0, 40)}' is not supported`, 417);
    }
    if (this.supportsChunked && this.#single("host") === null)
      throw invalidHttp("the host header is missing");
  }

  /** The values of a repeated header are joined by commas. `name`: in lower case. */
  get(name: string): string | null {
    let value = this.#read.get(name);
    if (value === undefined) {
      value = this.#find(name);
      this.#read.set(name, value);
    }
    return value;
  }

  #find(name: string): string | null {
    const line = `\r\n${name}:`;
    let at = this.#lowerCase.indexOf(line);
    if (at < 0) return null;
    const first = this.#valueAt(at + line.length);
    at = this.#lowerCase.indexOf(line, at + 1);
    if (at < 0) return first;
    const values = [first];
    for (; at >= 0; at = this.#lowerCase.indexOf(line, at + 1)) {
      values.push(this.#valueAt(at + line.length));
    }
    return values.join(", ");
  }

  *entries(): Generator<readonly [string, string]> {
    for (const line of this.#text.split("\r\n").slice(1)) {
      const colon = line.indexOf(":");
      const value = trimOptionalWhitespace(line, colon + 1, line.length);
      yield [line.slice(0, colon).toLowerCase(), value];
    }
  }

  #valueAt(from: number): string {
    const end = this.#text.indexOf("\r\n", from);
    return trimOptionalWhitespace(this.#text, from, end < 0 ? this.#text.length : end);
  }

  /** A header that decides where the request ends must not be repeated. */
  #single(name: string): string | null {
    const line = `\r\n${name}:`;
    const at = this.#lowerCase.indexOf(line);
    if (at < 0) return null;
    if (this.#lowerCase.includes(line, at + 1)) throw invalidHttp(`the ${name} header is repeated`);
    return this.#valueAt(at + line.length);
  }

  #framing(): Framing {
    const coding = this.#single("transfer-encoding");
    const length = this.#single("content-length");
    if (coding !== null) {
      if (length !== null || !this.supportsChunked) {
        throw invalidHttp("the length of the body is ambiguous");
      }
      if (coding.toLowerCase() === "chunked") return "chunked";
      throw invalidHttp(
        `the transfer coding '${coding.slice(0, 40)}' is not supported, only 'chunked'`,
        501,
      );
    }
    if (length === null) return 0;
    if (!/^\d{1,16}$/.test(length) || !Number.isSafeInteger(Number(length))) {
      throw invalidHttp("the content-length is not a number");
    }
    return Number(length);
  }
}

/**
 * The path of a request target. Clients of proxies send an absolute URL. Non-ASCII bytes, which should have been
 * percent-encoded, are read as UTF-8.
 */
function pathOf(target: string): string {
  const [origin] = target.startsWith("/") ? [] : (/^https?:\/\/[^/?#]*/i.exec(target) ?? []);
  const path = origin === undefined ? target : target.slice(origin.length);
  const rooted = path.startsWith("/") || path === "*";
  // A proxy that protects /admin may not recognize `admin` as a path.
  if (!rooted && origin === undefined) throw invalidHttp("the request target is not a path");
  const whole = rooted ? path : `/${path}`;
  return /[\x80-\xff]/.test(whole) ? Buffer.from(whole, "latin1").toString("utf8") : whole;
}

/**
 * A dot segment, also percent-encoded or between backslashes. Most clients remove dot segments themselves. A proxy that
 * protects /admin and does not remove them would let /./admin through.
 */
const dotSegment = /(?:\/|\\|%2f|%5c)(?:\.|%2e){1,2}(?:\/|\\|%2f|%5c|$)/i;

function refuseDotSegments(path: string): string {
  if (!dotSegment.test(path)) return path;
  throw invalidHttp("its path has the segment '.' or '..'; send the path without it");
}

const withoutTrailingSlash = (path: string): string =>
  path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;

const headTooLarge = (): GatewayError =>
  new GatewayError(
    "headers_too_large",
    `The URL and the headers of the request are larger than ${maxHeadBytes} bytes together. Send shorter headers.`,
  );

const headEnd = Buffer.from("\r\n\r\n");
const noBytes = Buffer.alloc(0);
/** The most bytes of pipelined requests that are buffered while a request is handled. */
const maxPipelinedBytes = 64 * 1024;
/**
 * A head up to this size is cached: on a keep-alive connection, most clients send the same head again. A larger one
 * would cost each idle connection three times its size.
 */
const maxCachedBytes = 2 * 1024;

/**
 * Buffers the bytes of a connection that belong to no request yet: the start of a head, or pipelined requests. Caches
 * the last head.
 */
export class HeadReader {
  #buffered: Buffer = noBytes;
  #bodyStart = 0;
  #rest: Buffer = noBytes;
  #cachedHead: ParsedHead | undefined;
  #cachedBytes: Buffer = noBytes;

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

  clearCache(): void {
    this.#cachedHead = undefined;
    this.#cachedBytes = noBytes;
  }

  /**
   * Reads the next head from the buffered bytes and `more`. Undefined while the head has not arrived whole. Throws
   * GatewayError.
   */
  read(more: Buffer): ParsedHead | undefined {
    this.buffer(more);
    const bytes = this.#buffered;
    const head = this.#find(bytes);
    if (head) this.#buffered = noBytes;
    this.#rest = head && bytes.length > this.#bodyStart ? bytes.subarray(this.#bodyStart) : noBytes;
    return head;
  }

  /** Takes the bytes after the head that was read last: its body, and pipelined requests. */
  takeRest(): Buffer {
    const rest = this.#rest;
    this.#rest = noBytes;
    return rest;
  }

  #find(bytes: Buffer): ParsedHead | undefined {
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

  #parse(bytes: Buffer, start: number, end: number): ParsedHead {
    this.clearCache();
    const head = new ParsedHead(bytes.toString("latin1", start, end));
    if (this.#bodyStart - start <= maxCachedBytes) {
      this.#cachedHead = head;
      this.#cachedBytes = Buffer.from(bytes.subarray(start, this.#bodyStart));
    }
    return head;
  }
}
