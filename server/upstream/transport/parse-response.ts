/**
 * Incremental HTTP/1.1 response parser. Strict where leniency would allow response smuggling: bytes that are not exactly
 * one response end the connection.
 */

import { Chunked } from "../../lib/chunked.ts";
import { Pieces } from "../../lib/chunked-bytes.ts";
import { withoutBlanks } from "../../lib/header-value.ts";
import { isResponse } from "./unsolicited-bytes.ts";

/** The names in small letters; a name that came twice has both values, with a comma between. */
export type Head = ReadonlyMap<string, string>;

/** A server that talks nonsense. */
export class InvalidHttpResponse extends Error {
  override readonly name = "NotHttp";
}

export class ResponseTooLarge extends Error {
  override readonly name = "TooLarge";
}

/** No honest server sends more before its body. */
const mostHeadBytes = 64 * 1024;

/** HTTP/1.1 200 OK */
const statusLine = /^HTTP\/1\.[01] [1-9]\d\d(?: |\r|$)/;
/** Any other could be understood in two ways: folded, ended by half a line break, a space before the colon. */
const clearLines = /^[^\r\n]*(?:\r\n[!-9;-~]+:[^\r\n]*)*$/;

/** In a head of small letters. */
const nothingLeft = /\r\nx-ratelimit-remaining[a-z-]*:[ \t]*(?:-|0+(?:\.0*)?[ \t]*(?:\r|$))/;

/** What is smaller is a crumb, and heaped up to pieces of that size. */
const [crumbBytes, heapBytes] = [16 * 1024, 64 * 1024];

const headEnd = Buffer.from("\r\n\r\n");
const nothing = Buffer.alloc(0);

export class ResponseParser {
  status = 0;
  /** The connection may carry another call. */
  reusable = false;
  /** How the body is compressed, in small letters. */
  coding: string | undefined;
  /** Whether anything came at all. */
  begun = false;
  /** Its body, or the rest of it, is not taken: bytes that follow belong to it. */
  isCut = false;
  /** More came than belongs to this response, and it could be another one. */
  surplus = false;
  /** It seems to say that nothing is left of a rate limit. If not, no header need be read to know that. */
  seemsSpent = false;
  readonly #maxBytes: number;
  readonly #take: ((piece: Buffer) => void) | undefined;
  /** Everything before the body; read further only by those who want more than where it ends. */
  #head = "";
  #headers: Head | undefined;
  #state: "head" | "sized" | "chunked" | "until-close" | "done" = "head";
  /** Not looked at yet: a head that has not come whole. */
  #pending: Buffer = nothing;
  #pieces: Buffer[] = [];
  /** Where crumbs are swept up, and how far it is filled. */
  #heap: Buffer | undefined;
  #heaped = 0;
  #length = 0;
  #left = 0;
  #chunked: Chunked | undefined;

  /** `take`: gets the body piece by piece; `body` stays empty then. */
  constructor(maxBytes: number, take?: (piece: Buffer) => void) {
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

  get body(): Pieces {
    this.#endHeap();
    return new Pieces(this.#pieces);
  }

  /** Takes a piece. Throws where this is not an answer, or not one that may be taken. */
  push(piece: Buffer): void {
    this.begun = true;
    let rest = this.#pending.length > 0 ? Buffer.concat([this.#pending, piece]) : piece;
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
  }

  /** The other side has closed. */
  close(): void {
    this.reusable = false;
    if (this.#state === "until-close") this.#state = "done";
  }

  #takeHead(bytes: Buffer): Buffer {
    const end = bytes.indexOf(headEnd);
    if (end < 0 || end > mostHeadBytes) {
      if (bytes.length > mostHeadBytes) throw new InvalidHttpResponse("its head is too long");
      this.#pending = bytes;
      return nothing;
    }
    this.#readHead(bytes.toString("latin1", 0, end));
    return bytes.subarray(end + headEnd.length);
  }

  #readHead(head: string): void {
    if (!statusLine.test(head)) throw new InvalidHttpResponse("it does not speak HTTP/1.1");
    const status = Number(head.slice(9, 12));
    if (status === 101) throw new InvalidHttpResponse("it goes on in another protocol, unasked");
    // Interim answers, such as 100 and 103: the answer itself follows.
    if (status < 200) return;
    this.status = status;
    this.#head = head;
    const small = head.toLowerCase();
    this.coding = single(small, "content-encoding");
    this.seemsSpent = small.includes("\r\nx-ratelimit-remaining") && nothingLeft.test(small);
    this.reusable = staysOpen(small) && clearLines.test(head);
    this.#begin(status, single(small, "transfer-encoding"), single(small, "content-length"));
  }

  #begin(status: number, coding: string | undefined, length: string | undefined): void {
    if (status === 204 || status === 304) {
      // One that announces a body may send it all the same.
      if (coding !== undefined || (length ?? "0") !== "0") {
        this.reusable = false;
        this.isCut = true;
      }
      this.#state = "done";
    } else if (coding !== undefined) {
      // Both would let two readers disagree on where the answer ends.
      if (coding !== "chunked" || length !== undefined) {
        throw new InvalidHttpResponse("the length of its answer is not clear");
      }
      this.#state = "chunked";
    } else if (length !== undefined) {
      this.#left = Number(length);
      if (!Number.isSafeInteger(this.#left) || !/^\d+$/.test(length)) {
        throw new InvalidHttpResponse("the length of its answer is not a number");
      }
      if (this.#left > this.#maxBytes) {
        this.#refuseRest();
        return;
      }
      this.#state = this.#left === 0 ? "done" : "sized";
    } else {
      this.reusable = false;
      this.#state = "until-close";
    }
  }

  #takeSized(bytes: Buffer): Buffer {
    const isMore = bytes.length > this.#left;
    const taken = isMore ? bytes.subarray(0, this.#left) : bytes;
    const rest = isMore ? bytes.subarray(this.#left) : nothing;
    this.#left -= taken.length;
    this.#keep(taken);
    if (this.#left === 0) this.#state = "done";
    return rest;
  }

  #keep(bytes: Buffer): Buffer {
    this.#length += bytes.length;
    if (this.#length > this.#maxBytes) this.#refuseRest();
    else if (this.#take) this.#take(bytes);
    else this.#add(bytes);
    return nothing;
  }

  /** Crumbs are swept up, or each would cost more than it holds. */
  #add(bytes: Buffer): void {
    // What comes first is often all there is.
    const isCrumb = bytes.length < crumbBytes && (this.#heap || this.#pieces.length > 0);
    if (!isCrumb) {
      this.#endHeap();
      this.#pieces.push(bytes);
      return;
    }
    let from = 0;
    while (from < bytes.length) {
      const left = bytes.length - from + (this.#state === "sized" ? this.#left : heapBytes);
      this.#heap ??= Buffer.allocUnsafeSlow(Math.min(left, heapBytes));
      const copied = bytes.copy(this.#heap, this.#heaped, from);
      from += copied;
      this.#heaped += copied;
      if (this.#heaped === this.#heap.length) this.#endHeap();
    }
  }

  #endHeap(): void {
    if (this.#heap) this.#pieces.push(this.#heap.subarray(0, this.#heaped));
    this.#heap = undefined;
    this.#heaped = 0;
  }

  /** Of a failure the status says enough; the rest of its description is left where it is. */
  #refuseRest(): void {
    if (this.status >= 200 && this.status <= 299) throw new ResponseTooLarge();
    this.#pieces = [];
    this.#heap = undefined;
    this.#heaped = 0;
    this.#length = 0;
    this.reusable = false;
    this.isCut = true;
    this.#state = "done";
  }

  #takeChunked(bytes: Buffer): Buffer {
    this.#chunked ??= new Chunked(
      (why) => new InvalidHttpResponse(`of the chunks of its answer, ${why}`),
    );
    const rest = this.#chunked.push(bytes, (piece) => {
      if (!this.done) this.#keep(piece);
    });
    if (this.#chunked.done) this.#state = "done";
    return rest;
  }
}

/** Undecided counts as no. */
function staysOpen(head: string): boolean {
  const at = head.indexOf(connectionLine);
  if (at < 0) return head[7] === "1";
  if (head.includes(connectionLine, at + 1)) return false;
  const said = valueAt(head, at + connectionLine.length);
  return head[7] === "1" ? !said.includes("close") : said === "keep-alive";
}

const connectionLine = "\r\nconnection:";

function valueAt(head: string, from: number): string {
  const end = head.indexOf("\r\n", from);
  return withoutBlanks(head, from, end < 0 ? head.length : end);
}

/** Of a header that may stand there once, in a head of small letters. */
function single(head: string, name: string): string | undefined {
  const line = `\r\n${name}:`;
  const at = head.indexOf(line);
  if (at < 0) return undefined;
  if (head.includes(line, at + 1)) throw new InvalidHttpResponse(`it says ${name} twice`);
  return valueAt(head, at + line.length);
}

function readHeaders(head: string): Head {
  const headers = new Map<string, string>();
  const [, ...lines] = head.split("\r\n");
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon < 1) continue;
    const name = line.slice(0, colon).toLowerCase();
    const value = withoutBlanks(line, colon + 1, line.length);
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return headers;
}
