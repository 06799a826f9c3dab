/**
 * Incremental HTTP/1.1 response parser of the HTTP client. Strict where leniency would allow response smuggling: bytes
 * that are not exactly one response end the connection.
 */

import { GrowingBytes, releaseBuffer } from "../../lib/byte-memory.ts";
import { ChunkedDecoder, trimOptionalWhitespace } from "../../lib/http1.ts";
import { isResponse } from "./unsolicited-bytes.ts";

/** Header names in lower case; repeated headers are joined with a comma. */
export type Head = ReadonlyMap<string, string>;

/** The bytes are not a valid HTTP/1.1 response. */
export class InvalidHttpResponse extends Error {
  override readonly name = "InvalidHttpResponse";
}

export class ResponseTooLarge extends Error {
  override readonly name = "ResponseTooLarge";
}

/** Maximum size of the response head. */
const maxHeadBytes = 64 * 1024;

/** Interim responses before the final one: a server may send one every few seconds while it works. */
const maxInterimResponses = 100;

/** HTTP/1.1 200 OK */
const statusLine = /^HTTP\/1\.[01] [1-9]\d\d(?: |\r|$)/;
/** Other header lines are ambiguous: folded, ended by a bare line feed, or with a space before the colon. */
const unambiguousLines = /^[^\r\n]*(?:\r\n[!-9;-~]+:[^\r\n]*)*$/;

/** For a head in lower case. */
const exhaustedLimit = /\r\nx-ratelimit-remaining[a-z-]*:[ \t]*(?:-|0+(?:\.0*)?[ \t]*(?:\r|$))/;

const headEnd = Buffer.from("\r\n\r\n");
const lineFeed = 0x0a;
/** An empty line after a bare line feed. Some parsers end the head there, and others do not. */
const ambiguousEnds = [Buffer.from("\n\n"), Buffer.from("\n\r\n")];
/** The same, in a head without its last two line breaks. */
const ambiguousEnd = /\n(?:\r?\n|$)/;
const nothing = Buffer.alloc(0);

export class ResponseParser {
  status = 0;
  /** The connection may be reused (keep-alive). */
  reusable = false;
  /** The content-encoding, in lower case. */
  coding: string | undefined;
  /** Whether any byte arrived. */
  hasBegun = false;
  /** The body was cut off by the parser: bytes that follow belong to it. */
  isCut = false;
  /** Bytes followed the response that could be another response. */
  surplus = false;
  /** The headers may report an exhausted rate limit. False: they need not be read for that. */
  mayReportExhaustedLimit = false;
  readonly #maxBytes: number;
  readonly #take: ((chunk: Buffer) => void) | undefined;
  /** The response head; its headers are parsed on demand. */
  #head = "";
  #headers: Head | undefined;
  #interimResponses = 0;
  #state: "head" | "sized" | "chunked" | "until-close" | "done" = "head";
  /** Bytes of an incomplete head. */
  #pending: Buffer = nothing;
  /** The first chunk of the body is often the whole body, and is not copied. */
  #firstChunk: Buffer | undefined;
  #allChunks: GrowingBytes | undefined;
  #length = 0;
  #remainingBytes = 0;
  #chunked: ChunkedDecoder | undefined;

  /** `take`: receives the body in chunks; `body` then stays empty. */
  constructor(maxBytes: number, take?: (chunk: Buffer) => void) {
    this.#maxBytes = maxBytes;
    this.#take = take;
  }

  get headers(): Head {
    this.#headers ??= readHeaders(this.#head);
    return this.#headers;
  }

  get done(): boolean {
    return this.#state === "done";
  }

  get body(): Buffer {
    return this.#allChunks?.bytes ?? this.#firstChunk ?? nothing;
  }

  /** Parses a chunk. Throws for an invalid response or one that is too large. */
  push(chunk: Buffer): void {
    this.hasBegun = true;
    let rest = this.#pending.length > 0 ? Buffer.concat([this.#pending, chunk]) : chunk;
    this.#pending = nothing;
    while (this.#state === "head" && rest.length > 0) rest = this.#takeHead(rest);
    if (rest.length === 0) return;
    if (this.#state === "sized") rest = this.#takeSized(rest);
    else if (this.#state === "chunked") rest = this.#takeChunked(rest);
    else if (this.#state === "until-close") rest = this.#keep(rest);
    if (rest.length > 0 && this.#state === "done") {
      this.reusable = false;
      this.surplus = !this.isCut && isResponse(rest);
    }
    // It was copied. Left to the garbage collector, four clients with responses of 2 MB take 310 MB instead of 205.
    if (this.#allChunks) releaseBuffer(chunk);
  }

  /** The upstream closed the connection. */
  close(): void {
    this.reusable = false;
    if (this.#state === "until-close") this.#state = "done";
  }

  #takeHead(bytes: Buffer): Buffer {
    const end = bytes.indexOf(headEnd);
    if (end < 0 || end > maxHeadBytes) {
      if (bytes.length > maxHeadBytes)
        throw new InvalidHttpResponse("its response head is too long");
      checkIncompleteHead(bytes);
      this.#pending = bytes;
      return nothing;
    }
    this.#readHead(bytes.toString("latin1", 0, end));
    return bytes.subarray(end + headEnd.length);
  }

  #readHead(head: string): void {
    if (!statusLine.test(head)) throw notHttp();
    const status = Number(head.slice(9, 12));
    if (status === 101)
      throw new InvalidHttpResponse("it switched to another protocol without being asked to");
    if (ambiguousEnd.test(head)) throw endedByLineFeed();
    if (status < 200) {
      // Interim responses, such as 100 and 103: the final response follows.
      if (++this.#interimResponses > maxInterimResponses) {
        throw new InvalidHttpResponse(`it sent more than ${maxInterimResponses} interim responses`);
      }
      return;
    }
    this.status = status;
    this.#head = head;
    const lowerCaseHead = head.toLowerCase();
    this.coding = single(lowerCaseHead, "content-encoding");
    this.mayReportExhaustedLimit =
      lowerCaseHead.includes("\r\nx-ratelimit-remaining") && exhaustedLimit.test(lowerCaseHead);
    this.reusable = staysOpen(lowerCaseHead) && unambiguousLines.test(head);
    this.#begin(
      status,
      single(lowerCaseHead, "transfer-encoding"),
      single(lowerCaseHead, "content-length"),
    );
  }

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: one branch per kind of framing.
  #begin(status: number, coding: string | undefined, length: string | undefined): void {
    if (status === 204 || status === 304) {
      // A response without a body that announces one may send it nevertheless.
      if (coding !== undefined || (length ?? "0") !== "0") {
        this.reusable = false;
        this.isCut = true;
      }
      this.#state = "done";
    } else if (coding !== undefined) {
      // With both, two parsers could disagree on where the response ends (response smuggling).
      if (coding !== "chunked" || length !== undefined) {
        throw new InvalidHttpResponse("the length of its response is ambiguous");
      }
      this.#state = "chunked";
    } else if (length !== undefined) {
      this.#remainingBytes = Number(length);
      if (!Number.isSafeInteger(this.#remainingBytes) || !/^\d+$/.test(length)) {
        throw new InvalidHttpResponse("the length of its response is not a number");
      }
      if (this.#remainingBytes > this.#maxBytes) {
        this.#refuseBody();
        return;
      }
      this.#state = this.#remainingBytes === 0 ? "done" : "sized";
    } else {
      this.reusable = false;
      this.#state = "until-close";
    }
  }

  #takeSized(bytes: Buffer): Buffer {
    const hasSurplus = bytes.length > this.#remainingBytes;
    const taken = hasSurplus ? bytes.subarray(0, this.#remainingBytes) : bytes;
    const rest = hasSurplus ? bytes.subarray(this.#remainingBytes) : nothing;
    this.#remainingBytes -= taken.length;
    this.#keep(taken);
    if (this.#remainingBytes === 0) this.#state = "done";
    return rest;
  }

  #keep(bytes: Buffer): Buffer {
    this.#length += bytes.length;
    if (this.#length > this.#maxBytes) this.#refuseBody();
    else if (this.#take) this.#take(bytes);
    else this.#add(bytes);
    return nothing;
  }

  #add(bytes: Buffer): void {
    if (!this.#firstChunk) {
      this.#firstChunk = bytes;
      return;
    }
    if (!this.#allChunks) {
      this.#allChunks = new GrowingBytes(this.#length + this.#remainingBytes);
      this.#allChunks.append(this.#firstChunk);
      if (this.#firstChunk.buffer !== bytes.buffer) releaseBuffer(this.#firstChunk);
    }
    this.#allChunks.append(bytes);
  }

  /** For an error response the status is enough: a body over the limit is dropped instead of failing the request. */
  #refuseBody(): void {
    if (this.status >= 200 && this.status <= 299) throw new ResponseTooLarge();
    this.#firstChunk = undefined;
    this.#allChunks = undefined;
    this.#length = 0;
    this.reusable = false;
    this.isCut = true;
    this.#state = "done";
  }

  #takeChunked(bytes: Buffer): Buffer {
    this.#chunked ??= new ChunkedDecoder(
      (why) => new InvalidHttpResponse(`in its chunked response, ${why}`),
    );
    const rest = this.#chunked.push(bytes, (chunk) => {
      if (!this.done) this.#keep(chunk);
    });
    if (this.#chunked.done) this.#state = "done";
    return rest;
  }
}

/** Throws at once if no further bytes can complete a valid head. Otherwise the request would wait until its timeout. */
function checkIncompleteHead(bytes: Buffer): void {
  const end = bytes.indexOf(lineFeed);
  if (end < 0) return;
  if (!statusLine.test(bytes.toString("latin1", 0, end))) throw notHttp();
  if (ambiguousEnds.some((ending) => bytes.includes(ending))) throw endedByLineFeed();
}

const notHttp = (): InvalidHttpResponse => new InvalidHttpResponse("it does not speak HTTP/1.1");

const endedByLineFeed = (): InvalidHttpResponse =>
  new InvalidHttpResponse("its response head ends with a bare line feed");

/** Whether the server keeps the connection open: by default in HTTP/1.1, and never if the header is repeated. */
function staysOpen(head: string): boolean {
  const at = head.indexOf(connectionLine);
  if (at < 0) return head[7] === "1";
  if (head.includes(connectionLine, at + 1)) return false;
  const connection = valueAt(head, at + connectionLine.length);
  return head[7] === "1" ? !connection.includes("close") : connection === "keep-alive";
}

const connectionLine = "\r\nconnection:";

function valueAt(head: string, from: number): string {
  const end = head.indexOf("\r\n", from);
  return trimOptionalWhitespace(head, from, end < 0 ? head.length : end);
}

/** The value of a header that may occur once, in a head in lower case. */
function single(head: string, name: string): string | undefined {
  const line = `\r\n${name}:`;
  const at = head.indexOf(line);
  if (at < 0) return undefined;
  if (head.includes(line, at + 1))
    throw new InvalidHttpResponse(`it sent the header ${name} twice`);
  return valueAt(head, at + line.length);
}

function readHeaders(head: string): Head {
  const headers = new Map<string, string>();
  const [, ...lines] = head.split("\r\n");
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon < 1) continue;
    const name = line.slice(0, colon).toLowerCase();
    const value = trimOptionalWhitespace(line, colon + 1, line.length);
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return headers;
}
