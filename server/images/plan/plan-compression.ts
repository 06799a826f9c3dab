/** How strongly a picture is compressed. Only jpeg and webp can be, so it waits until the kind of file is settled. */
import type { ImageCapabilities } from "../../upstream/image-capabilities.ts";
import type { Draft } from "./plan.ts";
import { uncompressible, unsupportedOption } from "./plan-refusals.ts";

/** After all other options. */
export function planCompression(draft: Draft, { takes, compresses }: ImageCapabilities): void {
  const { options, postProcessing: finish, policy, dropped } = draft;
  const { output_compression: level, output_format: told } = options;
  if (level === undefined) return;
  const takesIt = takes.output_compression !== undefined;
  const fits = compresses === undefined || (told !== undefined && compresses.includes(told));
  if (takesIt && fits) return;
  delete options.output_compression;
  // What every picture is anyway need not be said.
  if (level === 100) return;
  if (policy === "strict" && !takesIt) throw unsupportedOption(draft, "output_compression");
  const format = told ?? finish.format;
  if (format === "jpeg" || format === "webp") {
    // Compressed twice is worse than once: the target is asked for its best, and the gateway does the rest.
    delete options.output_format;
    finish.format = format;
    finish.compression = level;
  } else if (policy === "drop") {
    dropped.push("output_compression");
  } else {
    throw uncompressible(format);
  }
}
