/** Errors of the plan: which option or value a target does not support, and what is supported instead. */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { OptionName } from "../../upstream/image-capabilities.ts";
import { quotedList } from "../../upstream/image-sizes.ts";
import type { Draft } from "./image-plan.ts";

/** Formats that the gateway can convert any image to. */
export const convertibleFormats = ["png", "jpeg", "webp"] as const;

/** `format`: the format of the response. Undefined where the client named none, or one that is not available. */
export const uncompressible = (format: string | undefined): GatewayError =>
  new GatewayError(
    "invalid_value",
    `Compression less than 100 is not supported ${format === undefined ? "without an output_format" : `for ${format} output`}. Set output_format to 'jpeg' or 'webp', or omit output_compression.`,
    { param: "output_compression" },
  );

export function invalidOption(
  draft: Draft,
  name: OptionName,
  value: unknown,
  allowed: readonly string[] | undefined,
): GatewayError {
  const values = [
    ...(allowed ?? []),
    ...(draft.policy === "strict" ? [] : (emulatedValues[name] ?? [])),
  ];
  if (name === "background" && value === "transparent") {
    return new GatewayError(
      "transparency_unsupported",
      `Transparent background is not supported for this model. Supported values are: ${quotedList([...values, "auto"])}.`,
      { param: name },
    );
  }
  if (values.length === 0) return unsupportedOption(draft, name);
  return new GatewayError(
    "invalid_value",
    `Invalid value: '${String(value).slice(0, 100)}'. Supported values are: ${quotedList(values)}.`,
    { param: name },
  );
}

/** Values that the gateway emulates where a target does not support them. */
const emulatedValues: Readonly<Partial<Record<OptionName, readonly string[]>>> = {
  output_format: convertibleFormats,
  background: ["opaque"],
};

export const unsupportedOption = ({ model }: Draft, name: string): GatewayError =>
  new GatewayError(
    "unknown_parameter",
    `Unknown parameter: '${name}'. The model '${model}' does not support it. Omit it.`,
    { param: name },
  );
