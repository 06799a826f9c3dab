/** Sends stored bytes with byte ranges: the whole body, or the part that the client requests. */
import type { ByteTurns } from "../lib/byte-turns.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { readWithin } from "../lib/timers.ts";
import { toErrorResponse } from "../request/error-response.ts";
import type {
  IncomingRequest,
  OutgoingResponse,
  StreamedResponseBody,
} from "../request/http-types.ts";
import { openBody } from "../request/open-body.ts";

interface StoredBytes {
  readonly size: number;
  /** From `from`, inclusive, to `to`, exclusive. The default is all. */
  read(from?: number, to?: number): ReadableStream<Uint8Array>;
}

interface SendOptions {
  readonly headers: Readonly<Record<string, string>>;
  /** The ETag of the bytes. */
  readonly tag: string;
  readonly turns: ByteTurns;
  /** Whose turn it is to read a chunk: the owner of the bytes, or the client. */
  readonly turnKey: string;
  /** The longest time between two chunks of the store. */
  readonly stallMs?: number;
}

export async function sendStored(
  incoming: IncomingRequest,
  { size, read }: StoredBytes,
  { headers, tag, turns, turnKey, stallMs = 30_000 }: SendOptions,
): Promise<OutgoingResponse> {
  const range = requestedRange(incoming, tag, size);
  if (range === "unsatisfiable") return rangeNotSatisfiable(size);
  const body: StreamedResponseBody = {
    length: range ? range.to + 1 - range.from : size,
    open: () =>
      turns.read(turnKey, readWithin(range ? read(range.from, range.to + 1) : read(), stallMs)),
    close: async () => undefined,
  };
  return {
    status: range ? 206 : 200,
    headers: {
      ...headers,
      etag: tag,
      "accept-ranges": "bytes",
      ...(range && { "content-range": `bytes ${range.from}-${range.to}/${size}` }),
    },
    body: incoming.method === "HEAD" ? body : await openBody(body),
  };
}

/**
 * Ranges apply to GET only. If-Range with another tag: the client holds part of other bytes, so it gets these
 * whole.
 */
function requestedRange(
  { method, headers }: IncomingRequest,
  tag: string,
  size: number,
): ByteRange | "unsatisfiable" | undefined {
  const range = headers.get("range");
  const ifRange = headers.get("if-range");
  if (method !== "GET" || range === null || (ifRange !== null && ifRange !== tag)) return undefined;
  return parseRange(range, size);
}

function rangeNotSatisfiable(size: number): OutgoingResponse {
  const { status, headers, body } = toErrorResponse(
    new GatewayError("invalid_value", `The range starts beyond the end: there are ${size} bytes.`, {
      param: "range",
      overrides: { status: 416 },
    }),
  );
  return { status, headers: { ...headers, "content-range": `bytes */${size}` }, body };
}

/** Both ends are inclusive. */
interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Range request: parses the `Range` header, one range of bytes. Several ranges and invalid values are ignored, as RFC
 * 9110 allows. `unsatisfiable`: it starts beyond the end. Undefined if the whole content is sent.
 */
function parseRange(header: string, size: number): ByteRange | "unsatisfiable" | undefined {
  const [, first = "", last = ""] = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header) ?? [];
  if (first === "" && last === "") return undefined;
  if (first === "") {
    // A suffix: the last bytes.
    const bytes = Math.min(Number(last), size);
    return bytes === 0 ? "unsatisfiable" : { from: size - bytes, to: size - 1 };
  }
  const from = Number(first);
  const to = last === "" ? size - 1 : Number(last);
  if (to < from && last !== "") return undefined;
  return from >= size ? "unsatisfiable" : { from, to: Math.min(to, size - 1) };
}
