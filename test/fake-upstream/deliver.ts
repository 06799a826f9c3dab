/** Sends a response, with the injected fault applied. */

import { brotliCompressSync, deflateSync } from "node:zlib";
import { failures } from "./failures.ts";
import { bytesOf, type FakeResponse, html } from "./fake-response.ts";
import type { BreakPoint, InjectedFault, StreamFault } from "./injected-fault.ts";
import type { Connection } from "./tcp-proxy.ts";

/** The response that the fault sends in place of the valid one. Undefined if it replaces none. */
export function replacementFor(fault: InjectedFault): FakeResponse | undefined {
  if (fault.fail) return failures[fault.fail];
  if (fault.redirect)
    return { status: 307, headers: { location: fault.redirect }, body: new Uint8Array() };
  if (!fault.response) return undefined;
  const { status, headers = {}, body = "" } = fault.response;
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

const corruptFrames: Record<StreamFault, (frames: readonly string[]) => readonly string[]> = {
  cut: (frames) => frames.map((frame, i) => (i === frames.length - 1 ? half(frame) : frame)),
  "ends-early": (frames) => frames.slice(0, -1),
  error: (frames) => [...frames.slice(0, -1), errorFrame],
  json: (frames) => frames,
  done: (frames) => [...frames, "data: [DONE]\n\n"],
  crlf: (frames) => [": keep-alive\r\n\r\n", ...frames.map((f) => f.replaceAll("\n", "\r\n"))],
  empty: () => [],
};

const compress: Record<
  NonNullable<InjectedFault["encoding"]>,
  (bytes: Uint8Array) => Uint8Array
> = {
  gzip: (bytes) => Bun.gzipSync(new Uint8Array(bytes)),
  br: (bytes) => brotliCompressSync(bytes),
  zstd: (bytes) => Bun.zstdCompressSync(bytes),
  deflate: (bytes) => deflateSync(bytes),
  mislabeled: (bytes) => bytes,
};

function corruptBody(response: FakeResponse, fault: InjectedFault): FakeResponse {
  const { body, huge, encoding, stream } = fault;
  if (body === "html") return html(200, "Welcome to nginx!");
  if (body === "text")
    return { ...response, headers: { ...response.headers, "content-type": "text/plain" } };
  if (body === "empty") return { ...response, body: new Uint8Array() };
  let bytes = response.body;
  if (!(bytes instanceof Uint8Array) && stream) bytes = corruptFrames[stream](bytes);
  if (bytes instanceof Uint8Array && body === "truncated") bytes = half(bytes);
  if (bytes instanceof Uint8Array && huge) bytes = Buffer.concat([bytes, Buffer.alloc(huge, " ")]);
  if (!encoding) return { ...response, body: bytes };
  return {
    ...response,
    headers: {
      ...response.headers,
      "content-encoding": encoding === "mislabeled" ? "gzip" : encoding,
    },
    body: compress[encoding](bytes instanceof Uint8Array ? bytes : bytesOf(bytes.join(""))),
  };
}

const hints = ({ retryAfter, retryAfterMs, headers }: InjectedFault): Record<string, string> => ({
  ...(retryAfter !== undefined && { "retry-after": String(retryAfter) }),
  ...(retryAfterMs !== undefined && { "retry-after-ms": String(retryAfterMs) }),
  ...headers,
});

/** The body in chunks, with the delays of the fault. */
async function* paced(
  body: FakeResponse["body"],
  { eventDelayMs = 0, trickle }: InjectedFault,
): AsyncGenerator<Uint8Array> {
  const whole = body instanceof Uint8Array ? [body] : body.map(bytesOf);
  for (const [i, chunk] of whole.entries()) {
    if (i > 0 && eventDelayMs > 0) await Bun.sleep(eventDelayMs);
    const step = trickle?.bytes ?? (chunk.length || 1);
    for (let at = 0; at < chunk.length; at += step) {
      if (trickle && (i > 0 || at > 0)) await Bun.sleep(trickle.everyMs);
      yield chunk.subarray(at, at + step);
    }
  }
}

const streamOf = (
  chunks: AsyncGenerator<Uint8Array>,
  ended: () => void,
): ReadableStream<Uint8Array> =>
  new ReadableStream({
    async pull(controller) {
      const { value, done } = await chunks.next();
      if (!done) return controller.enqueue(value);
      ended();
      controller.close();
    },
    async cancel() {
      await chunks.return(undefined);
    },
  });

async function* halfThenNothing(body: FakeResponse["body"]): AsyncGenerator<Uint8Array> {
  yield half(body instanceof Uint8Array ? body : bytesOf(body.join("")));
  await new Promise(() => undefined);
}

async function* brokenResponse(
  response: FakeResponse,
  where: BreakPoint,
  fault: InjectedFault,
): AsyncGenerator<Uint8Array> {
  const chunked = !(response.body instanceof Uint8Array);
  const length = response.body instanceof Uint8Array ? response.body.length : 0;
  const headers = {
    ...response.headers,
    ...(chunked ? { "transfer-encoding": "chunked" } : { "content-length": String(length) }),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${response.status} X\r\n${lines.join("")}\r\n`;
  if (where === "before-headers") return;
  yield bytesOf(where === "mid-headers" ? half(head) : head);
  if (where === "mid-headers") return;
  const framed = (chunk: Uint8Array) =>
    Buffer.concat([bytesOf(`${chunk.length.toString(16)}\r\n`), chunk, bytesOf("\r\n")]);
  // A stream that is cut keeps its complete chunks; any other body loses its second half.
  const body =
    where === "mid-body" && fault.stream !== "cut"
      ? half(
          chunked
            ? bytesOf((response.body as readonly string[]).join(""))
            : (response.body as Uint8Array),
        )
      : response.body;
  for await (const chunk of paced(body, fault)) yield chunked ? framed(chunk) : chunk;
  if (where === "after-body" && chunked) yield bytesOf("0\r\n\r\n");
}

/** `ended` is called when the last byte has been written. */
export async function deliver(
  response: FakeResponse,
  fault: InjectedFault,
  connection: Connection | undefined,
  ended: () => void,
): Promise<Response> {
  if (fault.delayMs) await Bun.sleep(fault.delayMs);
  await fault.until;
  if (fault.hang === "headers") return new Promise(() => undefined);
  const corrupted = corruptBody(response, fault);
  const final: FakeResponse = { ...corrupted, headers: { ...corrupted.headers, ...hints(fault) } };
  const { status, headers, body } = final;
  const stream = (chunks: AsyncGenerator<Uint8Array>) =>
    new Response(streamOf(chunks, ended), { status, headers });
  const where = fault.stream === "cut" ? "mid-body" : (fault.reset ?? fault.close);
  if (where) {
    const end = fault.reset ? "reset" : "close";
    await connection?.takeOver(brokenResponse(final, where, fault), end);
    ended();
    return new Response(); // The connection is closed, so no client reads it.
  }
  if (fault.hang === "body") return stream(halfThenNothing(body));
  if (!(body instanceof Uint8Array) || fault.trickle) return stream(paced(body, fault));
  ended();
  return new Response(new Uint8Array(body), { status, headers });
}
