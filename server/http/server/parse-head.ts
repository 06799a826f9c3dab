/**
 * What stands before the body of a request. Strict where two readers, such as a proxy and we, could otherwise disagree
 * on where a request ends.
 */
import { GatewayError } from "../../lib/gateway-error.ts";
import { trimOptionalWhitespace } from "../../lib/header-value.ts";

/** No honest caller sends more before its body. */
export const maxHeadBytes = 16 * 1024;

const requestLine = /^([!#$%&'*+.^_`|~\dA-Za-z-]{1,32}) ([!-~\x80-\xff]+) HTTP\/1\.([01])(?=\r|$)/;
/** Any other could be understood in two ways: folded, ended by half a line break, a space before the colon. */
const clearLines = /^[^\r\n]*(?:\r\n[!#$%&'*+.^_`|~\dA-Za-z-]+:[\t\x20-\x7e\x80-\xff]*)*$/;

/** A word of its own. Hearing `close` where it was not quite said does no harm; this would. */
const keepAlive = /(?:^|,)[\t ]*keep-alive[\t ]*(?:,|$)/;

/** How the end of a body is told. */
export type Framing = "chunked" | number;

export class RequestHead {
  readonly method: string;
  /** As it was sent: still encoded, without a slash at its end. */
  readonly path: string;
  /** From the question mark on. Empty where there is none. */
  readonly search: string;
  readonly framing: Framing;
  /** The caller may ask again on the same connection. */
  readonly isKeepAlive: boolean;
  /** HTTP/1.0 knows no chunks. */
  readonly supportsChunked: boolean;
  /** The body comes when it has been asked for. */
  readonly expectsContinue: boolean;
  readonly #text: string;
  /** In small letters. */
  readonly #small: string;

  /** `text`: up to the empty line, without it; one character for each byte. Throws GatewayError. */
  constructor(text: string) {
    const [, method, target, minor] = requestLine.exec(text) ?? [];
    if (method === undefined || target === undefined)
      throw invalidHttp("its first line is no request");
    if (!clearLines.test(text)) throw invalidHttp("a header is malformed");
    this.#text = text;
    this.#small = text.toLowerCase();
    this.method = method;
    const path = pathOf(target);
    const mark = path.indexOf("?");
    this.search = mark < 0 ? "" : path.slice(mark);
    this.path = withoutSlash(withoutSteps(mark < 0 ? path : path.slice(0, mark)));
    this.supportsChunked = minor === "1";
    this.framing = this.#framing();
    const connection = this.get("connection")?.toLowerCase() ?? "";
    this.isKeepAlive =
      !/\bclose\b/.test(connection) && (this.supportsChunked || keepAlive.test(connection));
    // Of HTTP/1.0 it means nothing: such a caller would take what asks for the body for the answer.
    const expected = this.supportsChunked ? this.get("expect") : null;
    this.expectsContinue = expected !== null && expected.toLowerCase() === "100-continue";
    if (expected !== null && !this.expectsContinue) {
      throw invalidHttp(
        `it expects '${expected.slice(0, 40)}', which nobody here can promise`,
        417,
      );
    }
    if (this.supportsChunked && this.#only("host") === null) throw invalidHttp("it names no host");
  }

  /** Of a header that came more than once, all values with commas between. `name`: in small letters. */
  get(name: string): string | null {
    const line = `\r\n${name}:`;
    let at = this.#small.indexOf(line);
    if (at < 0) return null;
    const first = this.#valueAt(at + line.length);
    at = this.#small.indexOf(line, at + 1);
    if (at < 0) return first;
    const values = [first];
    for (; at >= 0; at = this.#small.indexOf(line, at + 1)) {
      values.push(this.#valueAt(at + line.length));
    }
    return values.join(", ");
  }

  #valueAt(from: number): string {
    const end = this.#text.indexOf("\r\n", from);
    return trimOptionalWhitespace(this.#text, from, end < 0 ? this.#text.length : end);
  }

  /** A header that decides what belongs to the request must not stand there twice. */
  #only(name: string): string | null {
    const line = `\r\n${name}:`;
    const at = this.#small.indexOf(line);
    if (at < 0) return null;
    if (this.#small.includes(line, at + 1)) throw invalidHttp(`it says ${name} twice`);
    return this.#valueAt(at + line.length);
  }

  #framing(): Framing {
    const coding = this.#only("transfer-encoding");
    const length = this.#only("content-length");
    if (coding !== null) {
      if (length !== null || !this.supportsChunked)
        throw invalidHttp("the length of its body is not clear");
      if (coding.toLowerCase() === "chunked") return "chunked";
      throw invalidHttp(`it comes as '${coding.slice(0, 40)}', not as plain chunks`, 501);
    }
    if (length === null) return 0;
    if (!/^\d{1,16}$/.test(length) || !Number.isSafeInteger(Number(length))) {
      throw invalidHttp("the length of its body is not a number");
    }
    return Number(length);
  }
}

/** The whole address is what proxies are asked for. Bytes beyond ASCII, which should have been encoded, are UTF-8. */
function pathOf(target: string): string {
  const [origin] = target.startsWith("/") ? [] : (/^https?:\/\/[^/?#]*/i.exec(target) ?? []);
  const path = origin === undefined ? target : target.slice(origin.length);
  const rooted = path.startsWith("/") || path === "*";
  // A proxy that guards /admin may see no path at all in `admin`.
  if (!rooted && origin === undefined) throw invalidHttp("what it asks for is no path");
  const whole = rooted ? path : `/${path}`;
  return /[\x80-\xff]/.test(whole) ? Buffer.from(whole, "latin1").toString("utf8") : whole;
}

/** Steps back and steps nowhere, which no client leaves in, but a person with curl --path-as-is may. */
function withoutSteps(path: string): string {
  if (!path.includes("/.")) return path;
  const kept: string[] = [];
  for (const part of path.slice(1).split("/")) {
    if (part === "..") kept.pop();
    else if (part !== ".") kept.push(part);
  }
  return `/${kept.join("/")}`;
}

const withoutSlash = (path: string): string =>
  path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;

export const invalidHttp = (why: string, status?: number): GatewayError =>
  new GatewayError(
    "invalid_http",
    `This is no HTTP/1.1 request that can be read: ${why}.`,
    status === undefined ? {} : { overrides: { status } },
  );

/** What can be no beginning of a request, however it goes on. Told at once: such a caller waits for an answer. */
export function checkFirstBytes(bytes: Uint8Array, start: number): GatewayError | undefined {
  const first = bytes[start];
  // Nothing yet, or half a line break.
  if (first === undefined || (first === 0x0d && bytes.length === start + 1)) return undefined;
  if (first === 0x16) {
    return invalidHttp(
      "it is a TLS greeting, and the gateway speaks plain HTTP (http://, not https://)",
    );
  }
  if (first < 0x21 || first > 0x7e) return invalidHttp("its first byte begins no request");
  const end = bytes.indexOf(0x0a, start);
  return end > 0 && bytes[end - 1] !== 0x0d
    ? invalidHttp("its lines end in half a line break")
    : undefined;
}

export const headTooLarge = (): GatewayError =>
  new GatewayError(
    "headers_too_large",
    `The address and the headers of the request are larger than ${maxHeadBytes} bytes together.`,
  );
