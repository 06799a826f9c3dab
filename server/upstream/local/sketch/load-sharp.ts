/** The image library, loaded at the first picture so that an idle gateway stays small. */
import { GatewayError } from "../../../std/gateway-error.ts";
import type { Sharp } from "./raster.ts";

let loading: Promise<Sharp> | undefined;

export function loadSharp(): Promise<Sharp> {
  loading ??= import("sharp").then(
    ({ default: sharp }) => {
      sharp.cache(false);
      // Two renders at a time are bounded elsewhere; one thread each leaves the rest to the gateway.
      sharp.concurrency(1);
      return sharp;
    },
    (cause: unknown) => {
      loading = undefined;
      throw new GatewayError("internal", "The image library could not be loaded.", { cause });
    },
  );
  return loading;
}
