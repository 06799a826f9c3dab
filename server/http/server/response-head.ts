/** Writes the head of a response: status line and headers. */
import { STATUS_CODES } from "node:http";
import type { OutgoingResponse } from "../../request/http-types.ts";

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
