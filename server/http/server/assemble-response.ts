/**
 * Assembles responses: writes the head (status line and headers), and joins it with a small body in the write buffer.
 */
import { STATUS_CODES } from "node:http";
import type { BodyChunks, OutgoingResponse } from "../../request/http-types.ts";

const statusLines = new Map<number, string>();

function statusLine(status: number): string {
  const cached = statusLines.get(status);
  if (cached !== undefined) return cached;
  const line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Unknown"}\r\n`;
  statusLines.set(status, line);
  return line;
}

/** A line break in a value would start another header; clients decode non-ASCII bytes in different ways. */
const invalidCharacter = /[^\t\x20-\x7e]/;
const invalidCharacters = new RegExp(invalidCharacter, "g");

/** `more`: whole header lines. Does not change `headers`: they may be shared by several responses. */
export function responseHead(
  status: number,
  headers: Readonly<Record<string, string>>,
  more: string,
): string {
  let head = statusLine(status);
  for (const name in headers) {
    const value = headers[name] as string;
    head += `${name}: ${invalidCharacter.test(value) ? value.replace(invalidCharacters, "?") : value}\r\n`;
  }
  return `${head}${more}\r\n`;
}

/** One header line per cookie. */
export const cookieLines = (setCookies: readonly string[]): string =>
  setCookies.map((value) => `set-cookie: ${value.replace(invalidCharacters, "?")}\r\n`).join("");

/** A whole response with a short text body, after which the connection is closed. `date`: a whole header line. */
export function closingResponse({ status, headers, body }: OutgoingResponse, date: string): string {
  const length = `content-length: ${Buffer.byteLength(body as string)}\r\n`;
  return `${responseHead(status, headers, `${length}connection: close\r\n${date}`)}${body}`;
}

/**
 * Room for the head. It is written after the body, because it contains the length of the body, and ends where the body
 * begins.
 */
const headBytes = 4 * 1024;
/** Maximum length of the body, in characters of up to three bytes each. */
const maxBodyCharacters = 32 * 1024;
/**
 * Write buffer: one buffer, shared by all connections, in which head and body of a small response are joined. Joining
 * them as strings would leave garbage of the response's size to the collector.
 */
const writeBuffer = Buffer.allocUnsafeSlow(headBytes + 3 * maxBodyCharacters);

/** A response in the write buffer. It must be written or copied before the next response is assembled. */
export interface BufferedResponse {
  readonly bytes: Buffer;
  readonly from: number;
  readonly length: number;
}

/** `head`: returns the head for a body of that many bytes, in ASCII. Undefined where the response does not fit. */
export function assembleResponse(
  parts: BodyChunks,
  head: (bytes: number) => string,
): BufferedResponse | undefined {
  let characters = 0;
  for (const part of parts) characters += part.length;
  if (characters > maxBodyCharacters) return undefined;
  const end = copyParts(parts, writeBuffer, headBytes);
  const first = head(end - headBytes);
  if (first.length > headBytes) return undefined;
  const from = headBytes - first.length;
  writeBuffer.write(first, from, "latin1");
  return { bytes: writeBuffer, from, length: end - from };
}

/**
 * Joins a body that is too large for the write buffer. A string that is written in several steps would be encoded again
 * at each.
 */
export function joinParts(parts: BodyChunks): Uint8Array {
  const [first] = parts;
  if (parts.length === 1 && typeof first === "object") return first;
  let length = 0;
  for (const part of parts) length += Buffer.byteLength(part);
  const bytes = Buffer.allocUnsafeSlow(length);
  copyParts(parts, bytes, 0);
  return bytes;
}

/** Returns the end of the copied bytes. */
function copyParts(parts: BodyChunks, into: Buffer, from: number): number {
  let end = from;
  for (const part of parts) {
    if (typeof part === "string") end += into.write(part, end);
    else {
      into.set(part, end);
      end += part.length;
    }
  }
  return end;
}
