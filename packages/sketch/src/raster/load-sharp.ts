/** Loads the image library at the first image, so that a process that draws nothing stays small. */
import type { Sharp } from "./raster.ts";

let loading: Promise<Sharp> | undefined;

export function loadSharp(): Promise<Sharp> {
  loading ??= import("sharp").then(
    ({ default: sharp }) => {
      // Each image is decoded once, so a cache would only hold memory.
      sharp.cache(false);
      // Callers run several renders at a time; one thread for each leaves the other cores to the rest of the machine.
      sharp.concurrency(1);
      return sharp;
    },
    (cause: unknown) => {
      loading = undefined;
      throw new Error("The image library could not be loaded.", { cause });
    },
  );
  return loading;
}
