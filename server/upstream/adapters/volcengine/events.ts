/** Reads Seedream's stream: an event for each completed image, and a last one with the usage. */
import type { GatewayError } from "../../../lib/gateway-error.ts";
import type { RequestTemp } from "../../../lib/request-temp.ts";
import type { ImageEvent, ImageUsage, StreamedImage } from "../../contract.ts";
import { createdIn, loadedImageIn } from "../wire/image-list.ts";
import { readImageStream } from "../wire/image-stream.ts";
import { invalidResponse, memberOf } from "../wire/members.ts";

export interface EventReading {
  readonly usageIn: (response: unknown) => { readonly usage?: ImageUsage };
  /** Maps an error with a code and a message. */
  readonly refuse: (error: unknown) => GatewayError;
}

/** docs.byteplus.com/en/docs/ModelArk/1824137. A refused image does not stop the others. */
export async function* readSeedreamEvents(
  chunks: AsyncIterable<Uint8Array>,
  temp: RequestTemp,
  { usageIn, refuse }: EventReading,
): AsyncGenerator<ImageEvent> {
  // Buffered until it is known whether it is the last, which has the usage of all.
  let held: StreamedImage | undefined;
  let delivered = 0;
  let refused: unknown;
  for await (const { payload: event } of readImageStream(chunks, temp)) {
    const { error, type } = event;
    switch (type) {
      case "image_generation.partial_succeeded":
        if (held) yield held;
        held = toFrame(event);
        delivered++;
        break;
      case "image_generation.partial_failed":
        refused ??= error;
        break;
      case "image_generation.completed":
        if (held) yield { ...held, ...usageIn(event) };
        held = undefined;
        break;
      default:
        if (error) throw refuse(error);
    }
  }
  if (held) yield held;
  if (delivered > 0) return;
  throw refused
    ? refuse(refused)
    : invalidResponse("its stream ended before an image was complete");
}

function toFrame(event: unknown): StreamedImage {
  const image = loadedImageIn(memberOf(event, "b64_json"));
  if (!image) throw invalidResponse("an event has no `b64_json`");
  return { type: "completed", image, ...createdIn(event) };
}
