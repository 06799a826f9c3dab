/** Reads the stream of OpenRouter's Image API: partial images, then the completed image with its usage. */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { RequestTemp } from "../../../temp-storage/request-temp.ts";
import type { ErrorContext, UpstreamResponse } from "../../adapter.ts";
import type { ImageEvent, ImageResult } from "../../contract.ts";
import { loadedImageIn } from "../wire/image-list.ts";
import { readImageStream } from "../wire/image-stream.ts";
import { errorIn } from "./errors.ts";
import { sumUsageAndCost, type UsageAndCost, usageAndCostOf } from "./usage.ts";

/** `maxPartialImages`: for the client. OpenRouter has no option for the number of partial images, and sends all. */
export async function* readOpenrouterEvents(
  response: UpstreamResponse,
  temp: RequestTemp,
  maxPartialImages: number,
  context: ErrorContext,
): AsyncGenerator<ImageEvent> {
  const results: ImageResult[] = [];
  const reports: UsageAndCost[] = [];
  let shown = 0;
  for await (const { payload } of readImageStream(response.chunks(), temp)) {
    const { error, type, b64_json: found, usage } = payload;
    if (error) throw await errorIn(payload, response, context);
    const image = loadedImageIn(found);
    if (!image) continue;
    if (type === "image_generation.partial_image" && shown < maxPartialImages) {
      yield { type: "partial", image, index: shown++ };
    }
    if (type === "image_generation.completed") {
      results.push({ image });
      reports.push(usageAndCostOf(usage));
    }
  }
  if (results.length === 0) {
    throw new GatewayError("upstream_invalid", "The upstream's stream ended without an image.");
  }
  // As a buffered response, because a stream event has no cost.
  yield {
    type: "buffered",
    response: { kind: "buffered", results, metadata: {}, ...sumUsageAndCost(reports) },
  };
}
