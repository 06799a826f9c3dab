/** Reads Seedream's stream: an event for each completed image, and a last one with the usage. */
import type { GatewayError } from "../../../lib/gateway-error.ts";
import type { RequestTemp } from "../../../temp-storage/request-temp.ts";
import type { ImageEvent, ImageUsage, StreamedImage } from "../../contract.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { createdIn, loadedImageIn } from "../wire/image-list.ts";
import { readImageStream } from "../wire/image-stream.ts";
import { memberOf } from "../wire/members.ts";

interface EventReading {
  readonly usageIn: (response: unknown) => { readonly usage?: ImageUsage };
  /** Maps an error with a code and a message. */
  readonly toError: (error: unknown) => GatewayError;
}

/** docs.byteplus.com/en/docs/ModelArk/1824137. A refused image does not stop the others. */
export async function* readSeedreamEvents(
  chunks: AsyncIterable<Uint8Array>,
  temp: RequestTemp,
  { usageIn, toError }: EventReading,
): AsyncGenerator<ImageEvent> {
  // Held back until it is known whether this is the last image, because the last image has the usage of all.
  let latest: StreamedImage | undefined;
  let delivered = 0;
  let firstError: unknown;
  for await (const { payload: event } of readImageStream(chunks, temp)) {
    const { error, type } = event;
    switch (type) {
      case "image_generation.partial_succeeded":
        if (latest) yield latest;
        latest = toFrame(event);
        delivered++;
        break;
      case "image_generation.partial_failed":
        firstError ??= error;
        break;
      case "image_generation.completed":
        if (latest) yield { ...latest, ...usageIn(event) };
        latest = undefined;
        break;
      default:
        if (error) throw toError(error);
    }
  }
  if (latest) yield latest;
  if (delivered > 0) return;
  throw firstError
    ? toError(firstError)
    : invalidResponse("its stream ended before an image was complete");
}

function toFrame(event: unknown): StreamedImage {
  const image = loadedImageIn(memberOf(event, "b64_json"));
  if (!image) throw invalidResponse("an event has no `b64_json`");
  return { type: "completed", image, ...createdIn(event) };
}
