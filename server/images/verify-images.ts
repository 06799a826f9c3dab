/** Verifies an image response: every image is an image or a link, and a stream ends with a completed image. */
import { invalidResponse } from "../request/invalid-response.ts";
import type { ImageContent, ImageEvent, ImageResponse } from "../upstream/contract.ts";
import { imageTypeOf } from "./image-head.ts";

export function verifyImages(response: ImageResponse): ImageResponse {
  if (response.kind === "stream") return { kind: "stream", events: verifyEvents(response.events) };
  if (response.results.length === 0) throw invalidResponse("it contains no image");
  for (const result of response.results) checkImage(result.image);
  return response;
}

/** Completed images are checked one by one during post-processing: one invalid image does not fail the others. */
async function* verifyEvents(events: AsyncIterable<ImageEvent>): AsyncIterable<ImageEvent> {
  let completed = 0;
  for await (const event of events) {
    if (event.type === "buffered") completed += event.response.results.length;
    else if (event.type === "completed") completed++;
    // A partial image is optional: an invalid one is dropped.
    else if (imageTypeOf(event.image) === undefined) continue;
    yield event;
  }
  if (completed === 0) throw invalidResponse("the stream ended before the image was complete");
}

function checkImage(image: ImageContent): void {
  if (image.kind === "url") {
    if (!/^(https?:\/\/|data:image\/)/.test(image.url))
      throw invalidResponse("it contains a URL that is not valid");
  } else if (imageTypeOf(image) === undefined)
    throw invalidResponse("it contains data that is not an image");
}
