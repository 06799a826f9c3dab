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
      "Stream events contain images as base64, not as URLs. Omit response_format, or set stream to false.",
      { param: "response_format" },
    );
  }
  adapted.push("response_format");
}
