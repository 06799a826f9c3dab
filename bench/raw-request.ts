/** One request on a socket of its own: its body is streamed, and the response body is passed on as it arrives. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { BodyReader, type ResponseBodyListener } from "./response-body.ts";
import { key } from "./scenarios.ts";

export interface RawRequest extends ResponseBodyListener {
  readonly path: string;
  readonly type: string;
  /** Sent with chunked transfer encoding. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface RawResponse {
  readonly status: number;
  readonly length: number;
}

export async function sendRaw(url: string, request: RawRequest): Promise<RawResponse> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const head = [
    `POST ${request.path} HTTP/1.1`,
    `host: ${hostname}:${port}`,
    `authorization: Bearer ${key}`,
    `content-type: ${request.type}`,
    "transfer-encoding: chunked",
  ];
  try {
    socket.write(`${head.join("\r\n")}\r\n\r\n`);
    const response = readResponse(socket, request);
    // An early response is a refusal, and ends the upload.
    await Promise.race([writeBody(socket, request.body), response]);
    return await response;
  } finally {
    socket.destroy();
  }
}

async function writeBody(socket: Socket, body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const bytes of body) {
    socket.write(`${bytes.length.toString(16)}\r\n`);
    socket.write(bytes);
    if (!socket.write("\r\n")) await once(socket, "drain");
  }
  socket.write("0\r\n\r\n");
}

function readResponse(socket: Socket, request: RawRequest): Promise<RawResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<RawResponse>();
  let head = Buffer.alloc(0);
  let status = 0;
  let body: BodyReader | undefined;
  const take = (bytes: Buffer): void => {
    if (!body) {
      head = Buffer.concat([head, bytes]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      const text = head.toString("latin1", 0, end);
      status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
      body = new BodyReader(text, request);
      take(head.subarray(end + 4));
      return;
    }
    body.push(bytes);
    if (body.done) resolve({ status, length: body.length });
  };
  socket.on("data", (bytes: Buffer) => {
    try {
      take(bytes);
    } catch (error) {
      reject(error);
    }
  });
  socket.on("error", reject);
  socket.on("close", () =>
    reject(new Error(`the connection closed after ${body?.length ?? 0} bytes of the response`)),
  );
  return promise;
}
