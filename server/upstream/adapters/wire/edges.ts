/** Width and height of a size, for vendors with separate fields. */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { GenerationQuery } from "../../contract.ts";

export interface Edges {
  readonly width: number;
  readonly height: number;
}

/** Undefined: the model chooses the size. */
export function edgesOf({ options: { size } }: GenerationQuery): Edges | undefined {
  if (size === undefined || size === "auto") return undefined;
  const found = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(size);
  if (found) return { width: Number(found[1]), height: Number(found[2]) };
  throw new GatewayError(
    "invalid_size",
    `Invalid size '${size.slice(0, 100)}'. It must be WIDTHxHEIGHT, such as 1024x1024, or 'auto'.`,
    { param: "size" },
  );
}
