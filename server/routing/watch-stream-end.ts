/** Watches a streamed image response to its end: only the last event shows whether the target served the request. */

import { clientClosedError } from "../request/deadline.ts";
import type { ImageEvent, ImageResponse } from "../upstream/contract.ts";

export function watchStreamEnd(
  reply: ImageResponse,
  end: (failure?: unknown) => void,
): ImageResponse {
  if (reply.kind === "stream") return { kind: "stream", events: watchEvents(reply.events, end) };
  end();
  return reply;
}

async function* watchEvents(
  events: AsyncIterable<ImageEvent>,
  end: (failure?: unknown) => void,
): AsyncGenerator<ImageEvent> {
  // A client that stops reading says nothing about the target.
  let failure: unknown = clientClosedError();
  try {
    for await (const event of events) yield event;
    failure = undefined;
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    end(failure);
  }
}
