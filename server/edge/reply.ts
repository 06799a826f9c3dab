/** Step 14: bytes leave. */
import type { Outgoing } from "../gateway/incoming.ts";

export interface ReplyOptions {
  readonly method: string;
  /** Besides the answer's own. */
  readonly headers: Readonly<Record<string, string>>;
  /** Told each time the caller has taken a piece of a stream. */
  onPiece(): void;
}

export function toResponse(
  { status, headers, body }: Outgoing,
  { method, headers: extra, onPiece }: ReplyOptions,
): Response {
  const init = { status, headers: { ...headers, ...extra } };
  if (status === 204) return new Response(null, init);
  if (typeof body === "string" || body instanceof Uint8Array) {
    if (method !== "HEAD") return new Response(body as string, init);
    const length = String(Buffer.byteLength(body));
    return new Response(null, { status, headers: { ...init.headers, "content-length": length } });
  }
  return new Response(toStream(body, onPiece), init);
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
