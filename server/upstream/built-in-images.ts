/** Image capabilities of the built-in models, by the kind of their upstream. */
import type { ImageCapabilities } from "./image-capabilities.ts";

const builtInImages = {
  compresses: ["jpeg", "webp"],
  // The models have no safety system.
  ignores: { moderation: ["low"] },
} as const satisfies Partial<ImageCapabilities>;

const sketchTakes = {
  quality: ["low", "medium", "high", "xhigh", "max", "standard", "hd", "auto"],
  background: ["transparent", "opaque", "auto"],
  style: ["vivid", "natural"],
  complexity: ["low", "medium", "high"],
  output_format: ["png", "jpeg", "webp", "gif", "svg"],
  output_compression: "any",
  frame_count: "any",
  frame_duration_ms: "any",
  partial_images: "any",
  response_format: ["b64_json"],
} as const satisfies ImageCapabilities["takes"];

/** The drawing program supports one extra field, `seed`. */
const sketch: ImageCapabilities = {
  ...builtInImages,
  maxImages: 10,
  takes: sketchTakes,
  sizes: { rule: { multipleOf: 1, minEdge: 16, maxEdge: 4096, maxPixels: 8_294_400 } },
  animates: ["gif"],
  streams: true,
  extras: ["seed"],
  // It refuses links and file ids itself.
  edits: { maxImages: 16, mask: "transparent", links: true, fileIds: true, markup: true },
};

const sketchEdits: ImageCapabilities = {
  ...sketch,
  takes: {
    ...sketchTakes,
    output_format: ["png", "jpeg", "webp", "gif"],
    input_fidelity: ["high", "low"],
  },
};

/** MI-GAN fills the masked area of one image. */
const migan: ImageCapabilities = {
  ...builtInImages,
  maxImages: 1,
  takes: {
    background: ["opaque", "auto"],
    output_format: ["png", "jpeg", "webp"],
    output_compression: "any",
    response_format: ["b64_json"],
  },
  sizes: "any",
  streams: false,
  extras: [],
  edits: { maxImages: 1, mask: "transparent" },
};

export function builtInImageCapabilities(
  kind: string,
  operation: "generations" | "edits",
): ImageCapabilities {
  if (kind === "migan") return migan;
  return operation === "edits" ? sketchEdits : sketch;
}
