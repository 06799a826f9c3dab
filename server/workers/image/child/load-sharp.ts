/** Loads sharp, the image library, in this process. */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { Library } from "./open-image.ts";

export async function loadSharp(): Promise<Library> {
  try {
    const { default: sharp } = await import("sharp");
    sharp.cache(false);
    // The gateway starts several of these processes; one thread in each leaves the other cores to it.
    sharp.concurrency(1);
    return sharp;
  } catch (cause) {
    throw new GatewayError("internal", "The image library could not be loaded.", { cause });
  }
}
