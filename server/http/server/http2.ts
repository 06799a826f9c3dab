/**
 * Refuses HTTP/2 with prior knowledge (RFC 9113, 3.3) in HTTP/2 frames: HTTP/2 clients cannot read a response in
 * HTTP/1.1, and would report a framing error instead of the reason.
 */

import { GatewayError } from "../../lib/gateway-error.ts";
import type { OutgoingResponse } from "../../request/http-types.ts";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const frameHeadBytes = 9;
const types = { data: 0, headers: 1, settings: 4, goaway: 7 } as const;
const flags = { ack: 1, endStream: 1, endHeaders: 4 } as const;
/** Error code HTTP_1_1_REQUIRED. */
const http11Required = 13;
const noBytes = Buffer.alloc(0);

/** How long a client that has sent the preface may take to send the headers of its first request. */
export const http2HeadersMs = 1_000;

/** An HTTP/2 request on this stream. Stream 0: the client has sent the preface, and no request. */
export class Http2Unsupported extends GatewayError {
  readonly stream: number;

  constructor(stream: number) {
    super(
      "invalid_http",
      "The request uses HTTP/2 with prior knowledge, and the gateway supports HTTP/1.1. Configure the client to use HTTP/1.1, or put a proxy that accepts HTTP/2 in front of the gateway.",
      { overrides: { status: 505 } },
    );
    this.stream = stream;
  }
}

/** Whether these bytes are the HTTP/2 preface, or the start of it. */
export const startsHttp2 = (bytes: Buffer): boolean => {
  const length = Math.min(bytes.length, preface.length);
  return length > 0 && preface.compare(bytes, 0, length, 0, length) === 0;
};

export const isWholePreface = (bytes: Buffer): boolean =>
  bytes.length >= preface.length && startsHttp2(bytes);

/** The stream of the first request. Undefined until its headers begin to arrive. */
export function firstStream(bytes: Buffer): number | undefined {
  let at = preface.length;
  while (at + frameHeadBytes <= bytes.length) {
    if (bytes[at + 3] === types.headers) return bytes.readUInt32BE(at + 5) & 0x7fffffff;
    at += frameHeadBytes + bytes.readUIntBE(at, 3);
  }
  return undefined;
}

/** The whole response, and GOAWAY. Without a stream, the reason is in the debug data of GOAWAY. */
export function http2Response({ status, headers, body }: OutgoingResponse, stream: number): Buffer {
  const settings = [
    frame(types.settings, 0, 0, noBytes),
    frame(types.settings, flags.ack, 0, noBytes),
  ];
  const fields = [field(":status", String(status))];
  for (const name in headers) fields.push(field(name, headers[name] as string));
  const text = Buffer.from(body as string);
  const end = Buffer.alloc(8);
  end.writeUInt32BE(stream, 0);
  end.writeUInt32BE(http11Required, 4);
  if (stream === 0) {
    return Buffer.concat([...settings, frame(types.goaway, 0, 0, Buffer.concat([end, text]))]);
  }
  return Buffer.concat([
    ...settings,
    frame(types.headers, flags.endHeaders, stream, Buffer.concat(fields)),
    frame(types.data, flags.endStream, stream, text),
    frame(types.goaway, 0, 0, Buffer.concat([end, Buffer.from("use HTTP/1.1")])),
  ]);
}

function frame(type: number, flag: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(frameHeadBytes);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flag;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/**
 * A literal header field without indexing, with a literal name (RFC 7541, 6.2.2). Name and value have up to 126 bytes.
 */
function field(name: string, value: string): Buffer {
  const short = value.slice(0, 126);
  return Buffer.from([
    0,
    name.length,
    ...Buffer.from(name),
    short.length,
    ...Buffer.from(short, "latin1"),
  ]);
}
