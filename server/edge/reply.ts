/** Step 14: bytes leave. */
import type { Leaving, Outgoing } from "../gateway/incoming.ts";

export function toResponse(
  { status, headers, body }: Outgoing,
  method: string,
  time: { renew(): void },
): Response {
  if (status === 204 || status === 304) return new Response(null, { status, headers });
  if (typeof body === "string" || body instanceof Uint8Array) {
    if (method !== "HEAD") return new Response(body as string, { status, headers });
    const length = String(Buffer.byteLength(body));
    return new Response(null, { status, headers: { ...headers, "content-length": length } });
  }
  if (body instanceof Blob) {
    const length = String(body.size);
    if (method !== "HEAD") return new Response(body, { status, headers });
    return new Response(null, { status, headers: { ...headers, "content-length": length } });
  }
  // Each time the caller has taken a piece, the connection's time begins anew.
  const onPiece = () => time.renew();
  if (!("open" in body)) return new Response(toStream(body, onPiece), { status, headers });
  const length = String(body.length);
  const stream = method === "HEAD" ? null : leaving(body, onPiece);
  return new Response(stream, { status, headers: { ...headers, "content-length": length } });
}

/** Read from disk as the caller takes it. A piece lives only until the next is asked for, so none is asked for early. */
function leaving(body: Leaving, onPiece: () => void): ReadableStream<Uint8Array> {
  const iterator = body.open()[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        onPiece();
        try {
          const { done, value } = await iterator.next();
          if (!done) {
            controller.enqueue(value);
            return;
          }
        } catch (error) {
          await body.close(false);
          throw error;
        }
        controller.close();
        await body.close(true);
      },
      cancel: async () => {
        await iterator.return?.();
        await body.close(false);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Pulled by the socket: a caller who reads slowly slows the upstream, one who leaves ends it. */
function toStream(
  chunks: AsyncIterable<string | Uint8Array>,
  onPiece: () => void,
): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  return new ReadableStream({
    pull: async (controller) => {
      onPiece();
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
    },
    cancel: async () => {
      await iterator.return?.();
    },
  });
}
