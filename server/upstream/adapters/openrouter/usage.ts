/** Converts OpenRouter's usage of an image: tokens in the fields of the chat API, and the cost in dollars. */
import type { BufferedImageResponse, ImageUsage } from "../../contract.ts";
import { isCount, memberOf } from "../wire/members.ts";

export type UsageAndCost = Pick<BufferedImageResponse, "usage" | "cost">;

/** OpenRouterTeam/typescript-sdk, .speakeasy/in.openapi.yaml: ImageGenerationUsage. */
export function usageAndCostOf(reported: unknown): UsageAndCost {
  const usage = tokensIn(reported);
  const cost = memberOf(reported, "cost");
  return {
    ...(usage && { usage }),
    ...(typeof cost === "number" && Number.isFinite(cost) && cost >= 0 && { cost }),
  };
}

/** The sums. Each is known only if every response reports its part. */
export function sumUsageAndCost(reports: readonly UsageAndCost[]): UsageAndCost {
  const usages = reports.flatMap(({ usage }) => (usage ? [usage] : []));
  const costs = reports.flatMap(({ cost }) => (cost === undefined ? [] : [cost]));
  const [first, ...others] = usages;
  return {
    ...(first && usages.length === reports.length && { usage: others.reduce(addUsage, first) }),
    ...(costs.length === reports.length &&
      costs.length > 0 && { cost: costs.reduce((sum, cost) => sum + cost, 0) }),
  };
}

const addUsage = (a: ImageUsage, b: ImageUsage): ImageUsage => ({
  total_tokens: a.total_tokens + b.total_tokens,
  input_tokens: a.input_tokens + b.input_tokens,
  output_tokens: a.output_tokens + b.output_tokens,
});

function tokensIn(reported: unknown): ImageUsage | undefined {
  const [input, output, total] = ["prompt_tokens", "completion_tokens", "total_tokens"].map(
    (name) => memberOf(reported, name),
  );
  // Models that are billed per image report no token counts.
  if (!isCount(input) || !isCount(output) || !isCount(total) || total === 0) return undefined;
  const image = memberOf(memberOf(reported, "completion_tokens_details"), "image_tokens");
  return {
    total_tokens: total,
    input_tokens: input,
    output_tokens: output,
    ...(isCount(image) && { output_tokens_details: { image_tokens: image } }),
  };
}
