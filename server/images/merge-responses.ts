/** Merges several image responses into one: all images, and the metadata that they have in common. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { BufferedImageResponse } from "../upstream/contract.ts";
import { commonMetadata } from "./image-metadata.ts";
import { sumUsage } from "./image-usage.ts";

export function mergeResponses(responses: readonly BufferedImageResponse[]): BufferedImageResponse {
  const [first] = responses;
  if (!first) throw new GatewayError("internal", "There is no response to merge.");
  if (responses.length === 1) return first;
  // The sum is known only if every response reports its part.
  const usage = responses.every((response) => response.usage)
    ? responses.map((response) => response.usage).reduce(sumUsage, undefined)
    : undefined;
  const cost = responses.every((response) => response.cost !== undefined)
    ? responses.reduce((sum, response) => sum + (response.cost ?? 0), 0)
    : undefined;
  const results = responses.flatMap((response) => response.results);
  const generated = responses.reduce(
    (sum, response) => sum + (response.generated ?? response.results.length),
    0,
  );
  const { usage: _, cost: __, generated: ___, ...others } = first;
  return {
    ...others,
    metadata: responses.map(({ metadata }) => metadata).reduce(commonMetadata),
    results,
    ...(generated !== results.length && { generated }),
    ...(usage && { usage }),
    ...(cost !== undefined && { cost }),
  };
}
