/** Reads OpenAI's image stream, event by event. */
import type { RequestTemp } from "../../../lib/request-temp.ts";
import type { ErrorContext } from "../../adapter.ts";
import type { ExtraFields, ImageEvent } from "../../contract.ts";
import { loadedImageIn } from "../wire/image-content.ts";
import { createdIn } from "../wire/image-list.ts";
import { readImageStream } from "../wire/image-stream.ts";
import { readStreamError } from "../wire/openai-errors.ts";
import { estimatedField } from "./estimated-usage.ts";
import { isUsage, metadataIn } from "./image-metadata.ts";

export async function* readImageEvents(
  chunks: AsyncIterable<Uint8Array>,
  temp: RequestTemp,
  context: ErrorContext,
): AsyncGenerator<ImageEvent> {
  for await (const { name, payload } of readImageStream(chunks, temp)) {
    if (payload.error || name === "error" || payload.type === "error") {
      throw readStreamError(payload, context);
    }
    const event = toEvent(payload);
    if (event) yield event;
  }
}

/** Undefined for unknown event types, which have no image. */
function toEvent(payload: ExtraFields): ImageEvent | undefined {
  // The upstream's model name is not the client's.
  const { type, b64_json, created_at, partial_image_index, usage, model: _, ...others } = payload;
  const partial = typeof type === "string" && type.endsWith(".partial_image");
  const completed = typeof type === "string" && type.endsWith(".completed");
  const image = partial || completed ? loadedImageIn(b64_json) : undefined;
  if (!image) return undefined;
  const {
    size,
    quality,
    background,
    output_format,
    [estimatedField]: estimated,
    ...extraFields
  } = others;
  return {
    type: partial ? "partial" : "completed",
    image,
    ...metadataIn(others),
    ...createdIn(payload, "created_at"),
    ...(Number.isSafeInteger(partial_image_index) && { index: partial_image_index as number }),
    ...(isUsage(usage) && estimated === undefined && { usage }),
    extraFields,
  };
}
