/** Image sizes and aspect ratios: what a target supports, and the nearest supported value for a request. */

import { quotedList } from "../lib/quoted-list.ts";
import type { GenerationQuery } from "./contract.ts";
import type { SizeRule, Sizes } from "./image-capabilities.ts";

export interface Size {
  readonly width: number;
  readonly height: number;
}

export function parseSize(text: string): Size | undefined {
  const found = /^([1-9]\d{0,4})x([1-9]\d{0,4})$/.exec(text);
  return found ? { width: Number(found[1]), height: Number(found[2]) } : undefined;
}

/**
 * Why a rule does not allow a size, for an error message, in OpenAI's words where it has any. Undefined if it is
 * allowed.
 */
export function sizeRuleViolation({ width, height }: Size, rule: SizeRule): string | undefined {
  const { multipleOf, minEdge, maxEdge, minPixels = 1, maxPixels, maxRatio } = rule;
  const pixels = width * height;
  const [shorter, longer] = [Math.min(width, height), Math.max(width, height)];
  if (width % multipleOf !== 0 || height % multipleOf !== 0) {
    return `Width and height must both be divisible by ${multipleOf}.`;
  }
  if (shorter < minEdge) return `The shortest edge must be greater than or equal to ${minEdge}.`;
  if (longer > maxEdge) return `The longest edge must be less than or equal to ${maxEdge}.`;
  if (pixels < minPixels) return `It has ${pixels} pixels, which is below the minimum.`;
  if (maxPixels !== undefined && pixels > maxPixels) {
    return `It has ${pixels} pixels, which is above the maximum.`;
  }
  if (maxRatio !== undefined && longer > maxRatio * shorter) {
    return `The longer edge may be at most ${maxRatio} times the shorter.`;
  }
  return undefined;
}

/** Distance of a size from an aspect ratio: logarithmic, so that 2:1 is as far from 1:1 as 1:2 is. */
export function ratioDistance({ width, height }: Size, ratio: string): number {
  const [across = 1, down = 1] = ratio.split(":").map(Number);
  return Math.abs(Math.log((width / height) * (down / across)));
}

/** The nearest aspect ratio. */
export function nearestRatio(size: Size, ratios: readonly string[]): string {
  const [nearest = "1:1"] = ratios.toSorted(
    (a, b) => ratioDistance(size, a) - ratioDistance(size, b),
  );
  return nearest;
}

export const formatSize = ({ width, height }: Size): string => `${width}x${height}`;

/**
 * The nearest allowed size: scaled as a whole, so that the aspect ratio stays. For rules without `minPixels` and
 * `maxRatio`, which it does not read.
 */
export function nearestSize({ width, height }: Size, rule: SizeRule): Size {
  const { multipleOf, minEdge, maxEdge, maxPixels = Number.POSITIVE_INFINITY } = rule;
  const shrink = Math.min(
    1,
    maxEdge / Math.max(width, height),
    Math.sqrt(maxPixels / (width * height)),
  );
  const grow = Math.max(1, minEdge / (Math.min(width, height) * shrink));
  const minLength = Math.ceil(minEdge / multipleOf) * multipleOf;
  const maxLength = Math.floor(maxEdge / multipleOf) * multipleOf;
  const edge = (length: number): number => {
    // Rounded down, because rounding up could exceed the maximum pixels.
    const steps = Math.floor((length * shrink * grow) / multipleOf + 1e-9);
    return Math.min(maxLength, Math.max(minLength, steps * multipleOf));
  };
  return { width: edge(width), height: edge(height) };
}

/** The size of the nearest aspect ratio; of several, the one whose number of pixels is nearest. */
export function nearestListedSize(size: Size, list: readonly string[]): string | undefined {
  const pixelDistance = (listed: Size): number =>
    Math.abs(Math.log((size.width * size.height) / (listed.width * listed.height)));
  // Sizes of one ratio differ by the rounding of their edges.
  const step = 0.02;
  const distanceOf = (text: string): readonly [ratio: number, pixels: number] => {
    const listed = parseSize(text) ?? size;
    const ratio = ratioDistance(size, `${listed.width}:${listed.height}`);
    return [Math.round(ratio / step), pixelDistance(listed)];
  };
  const [nearest] = list.toSorted((a, b) => {
    const [[ratioA, pixelsA], [ratioB, pixelsB]] = [distanceOf(a), distanceOf(b)];
    return ratioA - ratioB || pixelsA - pixelsB;
  });
  return nearest;
}

/** Describes the supported sizes for an error message, with all their bounds. */
export function describeSizes(
  sizes: Exclude<Sizes, "any" | { readonly list: readonly string[] }>,
): string {
  if ("ratios" in sizes)
    return `The model supports only these aspect ratios: ${quotedList(sizes.ratios)}.`;
  const { multipleOf, minEdge, maxEdge, minPixels, maxPixels, maxRatio } = sizes.rule;
  const conditions = [
    `edges from ${minEdge} to ${maxEdge}${multipleOf === 1 ? "" : ` that are divisible by ${multipleOf}`}`,
    ...describeBounds(minPixels, maxPixels, "pixels"),
    ...(maxRatio === undefined ? [] : [`an aspect ratio from 1:${maxRatio} to ${maxRatio}:1`]),
  ];
  const { names = [] } = sizes;
  const named = ["auto", ...names].map((name) => `'${name}'`).join(", ");
  return `Supported values are ${named} and WIDTHxHEIGHT with ${conjunction(conditions)}.`;
}

const conjunction = (parts: readonly string[]): string =>
  parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")}, and ${parts.at(-1)}`;

function describeBounds(
  minimum: number | undefined,
  maximum: number | undefined,
  unit: string,
): string[] {
  if (minimum !== undefined && maximum !== undefined) return [`${minimum} to ${maximum} ${unit}`];
  if (maximum !== undefined) return [`at most ${maximum} ${unit}`];
  return minimum === undefined ? [] : [`at least ${minimum} ${unit}`];
}

/** Resolution classes, for vendors that take an aspect ratio and a class instead of a width and a height. */
export type Resolution = "1K" | "2K" | "4K";

/**
 * The class of the requested size: 1K is about as many pixels as 1024x1024, 2K four times and 4K sixteen times as many.
 * A size in between has the class whose edge is nearer by ratio. Without a requested size it is 1K, the default of
 * these vendors.
 */
export function resolutionOf({ requestedSize = "" }: GenerationQuery): Resolution {
  const [width = 0, height = 0] = requestedSize.split("x").map(Number);
  const edge = Math.sqrt(width * height);
  if (edge <= 1024 * Math.SQRT2) return "1K";
  return edge <= 2048 * Math.SQRT2 ? "2K" : "4K";
}
