/** OpenAI's moderation of a prompt. It is free, and runs before any request that is billed. */
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
    const [result] = listOf(memberOf(await response.json(), "results"));
    const flagged = memberOf(result, "flagged");
    if (typeof flagged !== "boolean")
      throw invalidResponse("it does not say whether the prompt is flagged");
    const categories = Object.entries(memberOf(result, "categories") ?? {});
    return {
      flagged,
      categories: categories.filter(([, is]) => is === true).map(([name]) => name),
    };
  },
});
