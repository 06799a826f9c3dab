/** Width and height of a size, for vendors with separate fields. */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { GenerationQuery } from "../../contract.ts";
import { parseSize, type Size } from "../../image-sizes.ts";

/** Undefined if the model chooses the size. */
export function edgesOf({ options: { size } }: GenerationQuery): Size | undefined {
  if (size === undefined || size === "auto") return undefined;
  const edges = parseSize(size);
  if (edges) return edges;
  throw new GatewayError(
    "invalid_size",
    `Invalid size '${size.slice(0, 100)}'. It must be WIDTHxHEIGHT, such as 1024x1024, or 'auto'.`,
    { param: "size" },
  );
}
