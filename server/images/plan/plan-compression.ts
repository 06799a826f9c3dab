/** Plans output_compression. Only jpeg and webp support it, so it is planned after the format. */
import type { ImageCapabilities } from "../../upstream/image-capabilities.ts";
import type { Draft } from "./image-plan.ts";
import { uncompressible, unsupportedOption } from "./plan-refusals.ts";

/** Must be called after all other options are planned. */
export function planCompression(draft: Draft, { takes, compresses }: ImageCapabilities): void {
  const { options, postProcessing, policy, dropped } = draft;
  const { output_compression: level, output_format: requestedFormat } = options;
  if (level === undefined) return;
  const takesIt = takes.output_compression !== undefined;
  const fits =
    compresses === undefined ||
    (requestedFormat !== undefined && compresses.includes(requestedFormat));
  if (takesIt && fits) return;
  delete options.output_compression;
  // 100 is the default, so it is omitted.
  if (level === 100) return;
  if (policy === "strict" && !takesIt) throw unsupportedOption(draft, "output_compression");
  const format = requestedFormat ?? postProcessing.format;
  if (format === "jpeg" || format === "webp") {
    // Two lossy compressions are worse than one: the target generates its best quality, and the gateway compresses.
    delete options.output_format;
    postProcessing.format = format;
    postProcessing.compression = level;
  } else if (policy === "drop") {
    dropped.push("output_compression");
  } else {
    throw uncompressible(format);
  }
}
