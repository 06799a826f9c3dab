/**
 * Converts a generated image into the requested format. An image that cannot be converted is billed nevertheless, so it
 * is delivered as the upstream sent it, and the response says so.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type { ImageContent, LoadedImage } from "../upstream/contract.ts";
import { imageTypeOf, type RequestedMetadata, readAlpha } from "./image-head.ts";
import type { PostProcessing } from "./plan/image-plan.ts";

export interface OutputConversion {
  readonly format: "png" | "jpeg" | "webp";
  readonly quality?: number;
  readonly flatten?: boolean;
}

export interface ConversionTools {
  convert(image: LoadedImage, to: OutputConversion): Promise<LoadedImage>;
  /** Called for each image that is delivered as the upstream sent it, because it could not be converted. */
  onUnconverted(error: GatewayError): void;
  /** Called for each option that the gateway emulated. */
  onAdapted(name: string): void;
  /** Called for each option that had no effect. */
  onDropped(name: string): void;
}

interface ConversionOptions {
  readonly postProcessing: PostProcessing;
  /** The metadata that the upstream request asked for. */
  readonly requested: RequestedMetadata;
}

export interface ProcessedImage<P extends ImageContent> {
  readonly image: P;
  /** The gateway has flattened the image onto white. */
  readonly flattened: boolean;
}

/** Converts an image, or returns it as the upstream sent it if the gateway cannot. */
export async function convertOutput(
  image: LoadedImage,
  options: ConversionOptions,
  tools: ConversionTools,
): Promise<ProcessedImage<LoadedImage>> {
  const { opaque } = options.postProcessing;
  const mustFlatten = opaque === true && (await readAlpha(image)) !== false;
  const planned = planConversion(imageTypeOf(image), mustFlatten, options);
  if (!planned) return { image, flattened: false };
  const { names, ...conversion } = planned;
  try {
    const converted = await tools.convert(image, conversion);
    for (const name of names) tools.onAdapted(name);
    return { image: converted, flattened: conversion.flatten === true };
  } catch (error) {
    if (!isOfGateway(error) && !isUnsupported(error)) throw error;
    // The image is billed: delivering it as the upstream sent it is better than failing.
    tools.onUnconverted(error);
    for (const name of names) tools.onDropped(name);
    return { image, flattened: false };
  }
}

/** Undefined if the image needs no conversion. `names`: the parameters that the conversion applies. */
function planConversion(
  type: string | undefined,
  mustFlatten: boolean,
  { postProcessing, requested }: ConversionOptions,
): (OutputConversion & { readonly names: readonly string[] }) | undefined {
  const { format } = postProcessing;
  const isRequestedFormat = format === undefined || type === `image/${format}`;
  const quality =
    postProcessing.compression ??
    (isRequestedFormat ? undefined : postProcessing.fallbackCompression);
  const names = [
    ...(mustFlatten ? ["background"] : []),
    ...(isRequestedFormat ? [] : ["output_format"]),
    ...(quality === undefined ? [] : ["output_compression"]),
  ];
  if (names.length === 0) return undefined;
  // An image that is decoded anyway is flattened if an opaque background was requested.
  const flatten = mustFlatten || requested.background === "opaque";
  return {
    names,
    format: format ?? formatOf(type),
    ...(quality !== undefined && { quality }),
    ...(flatten && { flatten }),
  };
}

/**
 * The image may be valid: the image worker died or its queue is full, the disk is full, or the time is up. A conversion
 * sends nothing to the upstream, so its `upstream_timeout` is the timeout of the request.
 */
export const isOfGateway = (error: unknown): error is GatewayError =>
  error instanceof GatewayError &&
  (error.definition.causedBy === "gateway" || error.kind === "upstream_timeout");

/** The image worker cannot decode the format, such as SVG. */
const isUnsupported = (error: unknown): error is GatewayError =>
  error instanceof GatewayError && error.kind === "unsupported_file_mimetype";

function formatOf(type: string | undefined): OutputConversion["format"] {
  if (type === "image/jpeg") return "jpeg";
  return type === "image/webp" ? "webp" : "png";
}
