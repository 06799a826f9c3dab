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

/** Why a rule does not allow a size, for an error message. Undefined: it is allowed. */
export function sizeRuleViolation({ width, height }: Size, rule: SizeRule): string | undefined {
  const { multipleOf, minEdge, maxEdge, minPixels = 1, maxPixels, maxRatio } = rule;
  const pixels = width * height;
  if (width % multipleOf !== 0 || height % multipleOf !== 0) {
    return `Width and height must both be divisible by ${multipleOf}.`;
  }
  if (Math.min(width, height) < minEdge || Math.max(width, height) > maxEdge) {
    return `Width and height must be from ${minEdge} to ${maxEdge}.`;
  }
  if (pixels < minPixels) return `It has fewer than ${minPixels} pixels.`;
  if (maxPixels !== undefined && pixels > maxPixels) return `It has more than ${maxPixels} pixels.`;
  if (maxRatio !== undefined && Math.max(width, height) > maxRatio * Math.min(width, height)) {
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

/** Describes the supported sizes for an error message. */
export function describeSizes(sizes: Exclude<Sizes, "any">): string {
  if ("list" in sizes) return `Supported values are: ${quotedList([...sizes.list, "auto"])}.`;
  if ("ratios" in sizes)
    return `The model supports only these aspect ratios: ${quotedList(sizes.ratios)}.`;
  const { multipleOf, minEdge, maxEdge } = sizes.rule;
  const steps = multipleOf === 1 ? "" : ` that are divisible by ${multipleOf}`;
  return `Supported values are 'auto' and WIDTHxHEIGHT with edges from ${minEdge} to ${maxEdge}${steps}.`;
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
