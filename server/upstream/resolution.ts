/** Resolution classes, for vendors that take an aspect ratio and a class instead of a width and a height. */
import type { GenerationQuery } from "./contract.ts";

export type Resolution = "1K" | "2K" | "4K";

/**
 * The class of the requested size: 1K is about as many pixels as 1024x1024, 2K four times and 4K sixteen times as many.
 * A size in between is given the nearer class in proportion. Without a requested size it is 1K, the default of these
 * vendors.
 */
export function resolutionOf({ requestedSize: wanted = "" }: GenerationQuery): Resolution {
  const [width = 0, height = 0] = wanted.split("x").map(Number);
  const edge = Math.sqrt(width * height);
  if (edge <= 1024 * Math.SQRT2) return "1K";
  return edge <= 2048 * Math.SQRT2 ? "2K" : "4K";
}
