/**
 * The plan of an image request for one target: the upstream requests, the post-processing of their images, and the
 * errors for options that the target does not support.
 */
import type { ParameterPolicy } from "../../config/snapshot.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { quotedList } from "../../lib/quoted-list.ts";
import type { GenerationQuery, ImageOptions } from "../../upstream/contract.ts";
import type { OptionName } from "../../upstream/image-capabilities.ts";

/** How an image is post-processed. */
export interface PostProcessing {
  readonly format?: "png" | "jpeg" | "webp";
  /** 0 to 100. */
  readonly compression?: number;
  /** Quality used only if the gateway must re-encode; the target itself supports `output_compression`. */
  readonly fallbackCompression?: number;
  /** The image is flattened: transparency is removed. */
  readonly opaque?: true;
  /** How the image is delivered. If absent, as the upstream sent it. */
  readonly deliverAs?: "url" | "b64_json";
}

export interface Plan<Q extends GenerationQuery> {
  /** The query for the target. */
  readonly query: Q;
  /** The number of images of each upstream request. */
  readonly requestCounts: readonly number[];
  readonly postProcessing: PostProcessing;
  /** Fields that the gateway emulates or changes. */
  readonly adapted: readonly string[];
  /** Fields that are dropped. */
  readonly dropped: readonly string[];
}

/** The mutable state of a plan in progress. */
export interface Draft {
  readonly policy: ParameterPolicy;
  /** The public id, for messages. */
  readonly model: string;
  readonly adapted: string[];
  readonly dropped: string[];
  options: { -readonly [K in keyof ImageOptions]: ImageOptions[K] };
  shape?: Pick<GenerationQuery, "aspectRatio" | "requestedSize">;
  postProcessing: { -readonly [K in keyof PostProcessing]: PostProcessing[K] };
}

/** Formats that the gateway can convert any image to. */
export const convertibleFormats = ["png", "jpeg", "webp"] as const;

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
