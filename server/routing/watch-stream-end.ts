/** Watches a streamed image response to its end: only the last event shows whether the target served the request. */

import { clientClosedError } from "../request/deadline.ts";
import type { ImageEvent, ImageResponse } from "../upstream/contract.ts";

export function watchStreamEnd(
  response: ImageResponse,
  end: (failure?: unknown) => void,
): ImageResponse {
  if (response.kind === "stream")
    return { kind: "stream", events: watchEvents(response.events, end) };
  end();
  return response;
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
