/** The forms that a response body can have: its length, its chunks, and how it is closed. */
import type { BodyChunks, OutgoingResponse, StreamedBody } from "../../request/http-types.ts";

/** Closes a body that is not sent: the request was HEAD, or the client disconnected before the response was ready. */
export async function discardBody({ body }: Pick<OutgoingResponse, "body">): Promise<void> {
  if (typeof body === "string" || isBodyChunks(body)) return;
  if (body instanceof Uint8Array || body instanceof Blob) return;
  if (isStreamedBody(body)) await body.close(false);
  else await body[Symbol.asyncIterator]().return?.();
}

/** A body that is sent in chunks. */
export type Body = Exclude<OutgoingResponse["body"], string | BodyChunks | Uint8Array>;

export const isBodyChunks = (body: OutgoingResponse["body"]): body is BodyChunks =>
  Array.isArray(body);

export const isStreamedBody = (body: Body): body is StreamedBody => "open" in body;

export function lengthOf(body: Body): number | undefined {
  if (body instanceof Blob) return body.size;
  return "length" in body ? body.length : undefined;
}

/** The chunks of a body, and the callback for their end. */
export interface ChunkSource {
  readonly iterator: AsyncIterator<string | Uint8Array>;
  end(complete: boolean): Promise<void>;
  /** All chunks are in memory until each is sent. */
  readonly isInMemory: boolean;
}

export const chunkSource = (body: Body): ChunkSource =>
  isStreamedBody(body) ? streamedBodyChunks(body) : iterableChunks(body);

function streamedBodyChunks(body: StreamedBody): ChunkSource {
  return {
    iterator: readStreamedBody(body),
    end: (complete) => body.close(complete),
    isInMemory: body.isInMemory === true,
  };
}

/** A body that cannot be opened fails like one that cannot be read. */
async function* readStreamedBody(body: StreamedBody): AsyncGenerator<Uint8Array> {
  yield* body.open();
}

function iterableChunks(body: AsyncIterable<string | Uint8Array> | Blob): ChunkSource {
  const iterable: AsyncIterable<string | Uint8Array> =
    body instanceof Blob ? body.stream() : (body as AsyncIterable<string | Uint8Array>);
  return {
    iterator: iterable[Symbol.asyncIterator](),
    end: async () => undefined,
    isInMemory: false,
  };
}

/** Errors of an iterator that is ended early are ignored. */
export async function endIteration(iterator: AsyncIterator<unknown>): Promise<void> {
  try {
    await iterator.return?.();
  } catch {
    // The response has failed already.
  }
}
