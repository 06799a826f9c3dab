/** What stands before the body of an answer. */
import { STATUS_CODES } from "node:http";
import type { OutgoingResponse } from "../../request/http-types.ts";

const statusLines = new Map<number, string>();

function statusLine(status: number): string {
  const known = statusLines.get(status);
  if (known !== undefined) return known;
  const line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Answer"}\r\n`;
  statusLines.set(status, line);
  return line;
}

/** A line break in a value would begin a header of its own; what is not ASCII is read differently by everyone. */
const unfit = /[^\t\x20-\x7e]/;
const unfits = new RegExp(unfit, "g");

/** `more`: whole lines. `headers` stay as they are: they may be kept for others. */
export function responseHead(
  status: number,
  headers: Readonly<Record<string, string>>,
  more: string,
): string {
  let head = statusLine(status);
  for (const name in headers) {
    const value = headers[name] as string;
    head += `${name}: ${unfit.test(value) ? value.replace(unfits, "?") : value}\r\n`;
  }
  return `${head}${more}\r\n`;
}

/** A whole response with a short text, which ends the connection. `date`: a whole line. */
export function closingResponse({ status, headers, body }: OutgoingResponse, date: string): string {
  const length = `content-length: ${Buffer.byteLength(body as string)}\r\n`;
  return `${responseHead(status, headers, `${length}connection: close\r\n${date}`)}${body}`;
}
