/** OpenAI's moderation of a prompt. It runs before the image request, which is billed. */
import type { ModerationAdapter } from "../../adapter.ts";
import { jsonRequest } from "../wire/build-request.ts";
import { invalidResponse, listOf, memberOf } from "../wire/members.ts";
import type { EndpointResolver } from "./endpoints.ts";

export const openaiModerations = (resolveEndpoint: EndpointResolver): ModerationAdapter => ({
  toUpstream: (prompt, target) => {
    const { url, headers } = resolveEndpoint(target, "moderations");
    return jsonRequest(url, headers, { model: target.model, input: prompt });
  },
  fromUpstream: async (response) => {
    const body = await response.json();
    const [result] = listOf(memberOf(body, "results"));
    const flagged = memberOf(result, "flagged");
    if (typeof flagged !== "boolean")
      throw invalidResponse("it does not say whether the prompt is flagged");
    const categories = Object.entries(memberOf(result, "categories") ?? {});
    // OpenAI reports no usage; Mistral and others with the same API do.
    const inputTokens = memberOf(memberOf(body, "usage"), "prompt_tokens");
    return {
      flagged,
      categories: categories.filter(([, is]) => is === true).map(([name]) => name),
      ...(typeof inputTokens === "number" && inputTokens > 0 && { usage: { inputTokens } }),
    };
  },
});
