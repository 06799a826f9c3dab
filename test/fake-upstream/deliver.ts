/** Puts an answer on the wire, right or wrong. */

import { brotliCompressSync, deflateSync } from "node:zlib";
import { type Answer, bytesOf, html } from "./answer.ts";
import { failures } from "./failures.ts";
import type { Connection } from "./front.ts";
import type { Mischief, StreamMischief, Where } from "./mischief.ts";

/** The answer that mischief puts in place of the right one, if it does. */
export function replaced(mischief: Mischief): Answer | undefined {
  if (mischief.fail) return failures[mischief.fail];
  if (mischief.redirect)
    return { status: 307, headers: { location: mischief.redirect }, body: new Uint8Array() };
  if (!mischief.reply) return undefined;
  const { status, headers = {}, body = "" } = mischief.reply;
  return { status, headers, body: typeof body === "string" ? bytesOf(body) : body };
}

const errorFrame = `event: error\ndata: ${JSON.stringify({
  error: {
    message: "The server had an error while processing your request. Sorry about that!",
    type: "server_error",
    param: null,
    code: "server_error",
  },
})}\n\n`;

const half = <T extends string | Uint8Array>(whole: T): T =>
  whole.slice(0, Math.floor(whole.length / 2)) as T;

const spoilFrames: Record<StreamMischief, (frames: readonly string[]) => readonly string[]> = {
  cut: (frames) => frames.map((frame, i) => (i === frames.length - 1 ? half(frame) : frame)),
  "ends-early": (frames) => frames.slice(0, -1),
  error: (frames) => [...frames.slice(0, -1), errorFrame],
  json: (frames) => frames,
  done: (frames) => [...frames, "data: [DONE]\n\n"],
  crlf: (frames) => [": keep-alive\r\n\r\n", ...frames.map((f) => f.replaceAll("\n", "\r\n"))],
  empty: () => [],
};

const compress: Record<NonNullable<Mischief["encoding"]>, (bytes: Uint8Array) => Uint8Array> = {
  gzip: (bytes) => Bun.gzipSync(new Uint8Array(bytes)),
  br: (bytes) => brotliCompressSync(bytes),
  zstd: (bytes) => Bun.zstdCompressSync(bytes),
  deflate: (bytes) => deflateSync(bytes),
  lie: (bytes) => bytes,
};

function spoilBody(answer: Answer, mischief: Mischief): Answer {
  const { body, huge, encoding, stream } = mischief;
  if (body === "html") return html(200, "Welcome to nginx!");
  if (body === "text")
    return { ...answer, headers: { ...answer.headers, "content-type": "text/plain" } };
  if (body === "empty") return { ...answer, body: new Uint8Array() };
  let bytes = answer.body;
  if (!(bytes instanceof Uint8Array) && stream) bytes = spoilFrames[stream](bytes);
  if (bytes instanceof Uint8Array && body === "truncated") bytes = half(bytes);
  if (bytes instanceof Uint8Array && huge) bytes = Buffer.concat([bytes, Buffer.alloc(huge, " ")]);
  if (!encoding) return { ...answer, body: bytes };
  return {
    ...answer,
    headers: { ...answer.headers, "content-encoding": encoding === "lie" ? "gzip" : encoding },
    body: compress[encoding](bytes instanceof Uint8Array ? bytes : bytesOf(bytes.join(""))),
  };
}

const hints = ({ retryAfter, retryAfterMs, headers }: Mischief): Record<string, string> => ({
  ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
  ...(retryAfterMs !== undefined && { "retry-after-ms": String(retryAfterMs) }),
  ...headers,
});

/** The body piece by piece, at the pace asked for. */
async function* paced(
  body: Answer["body"],
  { eventDelayMs = 0, trickle }: Mischief,
): AsyncGenerator<Uint8Array> {
  const whole = body instanceof Uint8Array ? [body] : body.map(bytesOf);
  for (const [i, piece] of whole.entries()) {
    if (i > 0 && eventDelayMs > 0) await Bun.sleep(eventDelayMs);
    const step = trickle?.bytes ?? (piece.length || 1);
    for (let at = 0; at < piece.length; at += step) {
      if (trickle && (i > 0 || at > 0)) await Bun.sleep(trickle.everyMs);
      yield piece.subarray(at, at + step);
    }
  }
}

const streamOf = (
  pieces: AsyncGenerator<Uint8Array>,
  ended: () => void,
): ReadableStream<Uint8Array> =>
  new ReadableStream({
    async pull(controller) {
      const { value, done } = await pieces.next();
      if (!done) return controller.enqueue(value);
      ended();
      controller.close();
    },
    async cancel() {
      await pieces.return(undefined);
    },
  });

async function* halfThenNothing(body: Answer["body"]): AsyncGenerator<Uint8Array> {
  yield half(body instanceof Uint8Array ? body : bytesOf(body.join("")));
  await new Promise(() => undefined);
}

async function* broken(
  answer: Answer,
  where: Where,
  mischief: Mischief,
): AsyncGenerator<Uint8Array> {
  const chunked = !(answer.body instanceof Uint8Array);
  const length = answer.body instanceof Uint8Array ? answer.body.length : 0;
  const headers = {
    ...answer.headers,
    ...(chunked ? { "transfer-encoding": "chunked" } : { "content-length": String(length) }),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${answer.status} X\r\n${lines.join("")}\r\n`;
  if (where === "before-headers") return;
  yield bytesOf(where === "mid-headers" ? half(head) : head);
  if (where === "mid-headers") return;
  const framed = (piece: Uint8Array) =>
    Buffer.concat([bytesOf(`${piece.length.toString(16)}\r\n`), piece, bytesOf("\r\n")]);
  // A stream that was cut keeps the pieces it has; anything else loses its second half.
  const body =
    where === "mid-body" && mischief.stream !== "cut"
      ? half(
          chunked
            ? bytesOf((answer.body as readonly string[]).join(""))
            : (answer.body as Uint8Array),
        )
      : answer.body;
  for await (const piece of paced(body, mischief)) yield chunked ? framed(piece) : piece;
  if (where === "after-body" && chunked) yield bytesOf("0\r\n\r\n");
}

/** `ended` is called when the last byte has been handed over. */
export async function deliver(
  answer: Answer,
  mischief: Mischief,
  connection: Connection | undefined,
  ended: () => void,
): Promise<Response> {
  if (mischief.delayMs) await Bun.sleep(mischief.delayMs);
  await mischief.until;
  if (mischief.hang === "headers") return new Promise(() => undefined);
  const spoilt = spoilBody(answer, mischief);
  const final: Answer = { ...spoilt, headers: { ...spoilt.headers, ...hints(mischief) } };
  const { status, headers, body } = final;
  const stream = (pieces: AsyncGenerator<Uint8Array>) =>
    new Response(streamOf(pieces, ended), { status, headers });
  const where = mischief.stream === "cut" ? "mid-body" : (mischief.reset ?? mischief.close);
  if (where) {
    const end = mischief.reset ? "reset" : "close";
    await connection?.takeOver(broken(final, where, mischief), end);
    ended();
    return new Response(); // Nobody is left to read it.
  }
  if (mischief.hang === "body") return stream(halfThenNothing(body));
  if (!(body instanceof Uint8Array) || mischief.trickle) return stream(paced(body, mischief));
  ended();
  return new Response(new Uint8Array(body), { status, headers });
}
