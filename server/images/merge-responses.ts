/** Merges several image responses into one: all images, and the metadata that they have in common. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { BufferedImageResponse } from "../upstream/contract.ts";
import { commonMetadata } from "./image-metadata.ts";
import { sumUsage } from "./image-usage.ts";

export function mergeResponses(replies: readonly BufferedImageResponse[]): BufferedImageResponse {
  const [first] = replies;
  if (!first) throw new GatewayError("internal", "Nothing was gathered.");
  if (replies.length === 1) return first;
  // The sum is known only if every response reports its part.
  const usage = replies.every((reply) => reply.usage)
    ? replies.map((reply) => reply.usage).reduce(sumUsage, undefined)
    : undefined;
  const cost = replies.every((reply) => reply.cost !== undefined)
    ? replies.reduce((sum, reply) => sum + (reply.cost ?? 0), 0)
    : undefined;
  const results = replies.flatMap((reply) => reply.results);
  const generated = replies.reduce(
    (sum, reply) => sum + (reply.generated ?? reply.results.length),
    0,
  );
  const { usage: _, cost: __, generated: ___, ...others } = first;
  return {
    ...others,
    metadata: replies.map(({ metadata: facts }) => facts).reduce(commonMetadata),
    results,
    ...(generated !== results.length && { generated }),
    ...(usage && { usage }),
    ...(cost !== undefined && { cost }),
  };
}
