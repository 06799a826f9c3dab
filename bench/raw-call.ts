/** One call on a socket of its own, whose body is sent as it is taken and whose answer is seen piece by piece. */

import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type AnswerBody, BodyReader } from "./answer-body.ts";
import { key } from "./scenarios.ts";

export interface RawCall extends AnswerBody {
  readonly path: string;
  readonly type: string;
  /** Sent in chunks, without a length. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface RawAnswer {
  readonly status: number;
  readonly length: number;
}

export async function rawCall(url: string, call: RawCall): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const head = [
    `POST ${call.path} HTTP/1.1`,
    `host: ${hostname}:${port}`,
    `authorization: Bearer ${key}`,
    `content-type: ${call.type}`,
    "transfer-encoding: chunked",
  ];
  try {
    socket.write(`${head.join("\r\n")}\r\n\r\n`);
    const answered = readAnswer(socket, call);
    // An early answer is a refusal, and ends the sending.
    await Promise.race([writeBody(socket, call.body), answered]);
    return await answered;
  } finally {
    socket.destroy();
  }
}

async function writeBody(socket: Socket, body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const piece of body) {
    socket.write(`${piece.length.toString(16)}\r\n`);
    socket.write(piece);
    if (!socket.write("\r\n")) await once(socket, "drain");
  }
  socket.write("0\r\n\r\n");
}

function readAnswer(socket: Socket, call: RawCall): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
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
      body = new BodyReader(text, call);
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
    reject(new Error(`the connection closed after ${body?.length ?? 0} bytes of an answer`)),
  );
  return promise;
}
