/** Step 14: bytes leave. */
import type { Outgoing } from "../gateway/incoming.ts";

export function toResponse(
  { status, headers, body }: Outgoing,
  extra: Readonly<Record<string, string>>,
  method: string,
): Response {
  const init = { status, headers: { ...headers, ...extra } };
  if (status === 204 || method === "HEAD") {
    if (typeof body === "object" && Symbol.asyncIterator in body)
      void body[Symbol.asyncIterator]().return?.();
    return new Response(null, init);
  }
  if (typeof body === "string" || body instanceof Uint8Array || body instanceof Blob) {
    return new Response(body as string, init);
  }
  return new Response(toStream(body), init);
}

/** Pulled by the socket: a caller who reads slowly slows the upstream, one who leaves ends it. */
function toStream(chunks: AsyncIterable<string>): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await iterator.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    cancel: async () => {
      await iterator.return?.();
    },
  });
}
