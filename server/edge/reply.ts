/** Step 14: bytes leave. */
import type { Outgoing } from "../gateway/incoming.ts";

export function toResponse(
  { status, headers, body }: Outgoing,
  method: string,
  time: { renew(): void },
): Response {
  if (status === 204) return new Response(null, { status, headers });
  if (typeof body === "string" || body instanceof Uint8Array) {
    if (method !== "HEAD") return new Response(body as string, { status, headers });
    const length = String(Buffer.byteLength(body));
    return new Response(null, { status, headers: { ...headers, "content-length": length } });
  }
  // Each time the caller has taken a piece, the connection's time begins anew.
  return new Response(
    toStream(body, () => time.renew()),
    { status, headers },
  );
}

/** Pulled by the socket: a caller who reads slowly slows the upstream, one who leaves ends it. */
function toStream(chunks: AsyncIterable<string>, onPiece: () => void): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  return new ReadableStream({
    pull: async (controller) => {
      onPiece();
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    cancel: async () => {
      await iterator.return?.();
    },
  });
}
