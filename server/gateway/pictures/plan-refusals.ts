/** Why a target is not asked for something, by the name of the option, and what there is instead. */
import { GatewayError } from "../../std/gateway-error.ts";
import type { OptionName } from "../../upstream/image-traits.ts";
import type { Draft } from "./plan.ts";
import { listed } from "./sizes.ts";

export const uncompressible = (format: string): GatewayError =>
  new GatewayError(
    "invalid_value",
    `Compression less than 100 is not supported for ${format} output. Ask for output_format 'jpeg' or 'webp', or leave output_compression out.`,
    { param: "output_compression" },
  );

export function refusal(
  draft: Draft,
  name: OptionName,
  value: unknown,
  allowed: readonly string[] | undefined,
): GatewayError {
  if (allowed === undefined) {
    return name === "background" && value === "transparent" ? opaqueOnly() : lacks(draft, name);
  }
  if (name === "background" && value === "transparent") return opaqueOnly();
  return new GatewayError(
    "invalid_value",
    `Invalid value: '${String(value).slice(0, 100)}'. Supported values are: ${listed(allowed)}.`,
    { param: name },
  );
}

const opaqueOnly = (): GatewayError =>
  new GatewayError(
    "transparency_unsupported",
    "Transparent background is not supported for this model.",
    { param: "background" },
  );

export const lacks = ({ model }: Draft, name: string): GatewayError =>
  new GatewayError(
    "unknown_parameter",
    `Unknown parameter: '${name}'. The model '${model}' has no such option; leave it out.`,
    { param: name },
  );
