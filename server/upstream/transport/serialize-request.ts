/** Writes the head and the body of a request to an upstream. */
import type { UpstreamRequest } from "../adapter.ts";
import type { Address } from "./connection.ts";
import { NotConnected } from "./connection-error.ts";

export interface Endpoint extends Address {
  /** The key of its connections in the pool. */
  readonly key: string;
  readonly host: string;
  readonly path: string;
}

/** Only the HTTP client sets the headers for the body's length and the connection. */
const ownHeaders = new Set(["content-length", "transfer-encoding", "connection"]);

const lineBreak = /[\r\n\0]/;

/** The request; only its head where the body is large. */
export function serializeRequest(
  { headers, body, method }: UpstreamRequest,
  { host, path }: Endpoint,
): string {
  let head = `${method ?? (body === undefined ? "GET" : "POST")} ${path} HTTP/1.1\r\n`;
  for (const name in headers) {
    if (ownHeaders.has(name)) continue;
    const value = headers[name] as string;
    // Configured headers have no line break; a fetched value, such as a token, might.
    if (lineBreak.test(value)) throw new NotConnected(new Error(`${name} contains a line break`));
    head += `${name}: ${value}\r\n`;
  }
  if (headers.host === undefined) head += `host: ${host}\r\n`;
  // Some firewalls reject a request without these two headers.
  if (headers["user-agent"] === undefined) head += "user-agent: vexel\r\n";
  if (headers.accept === undefined) head += "accept: */*\r\n";
  // Compression costs both sides more than bandwidth in a private network does.
  if (headers["accept-encoding"] === undefined) head += "accept-encoding: identity\r\n";
  if (body === undefined) return `${head}\r\n`;
  return typeof body === "string"
    ? `${head}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
    : `${head}content-length: ${body.length}\r\n\r\n`;
}
