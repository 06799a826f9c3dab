/** Plans streaming: what a stream cannot contain, and targets that do not stream. */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { ImageCapabilities } from "../../upstream/image-capabilities.ts";
import type { Draft } from "./image-plan.ts";
import { unsupportedOption } from "./plan-refusals.ts";

export function planStream(draft: Draft, { streams }: ImageCapabilities): void {
  const { policy, adapted, postProcessing } = draft;
  if (!streams) {
    if (policy === "strict") throw unsupportedOption(draft, "stream");
    adapted.push("stream");
  }
  // OpenAI's stream events have no field for a URL.
  if (postProcessing.as !== "url") return;
  if (policy === "strict") {
    throw new GatewayError(
      "invalid_value",
      "Events of a stream hold pictures in base64 and no links. Leave response_format out, or ask without stream.",
      { param: "response_format" },
    );
  }
  adapted.push("response_format");
}
