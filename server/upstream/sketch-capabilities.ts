/** Image capabilities of the built-in drawing program. */
import type { ImageOperation } from "./contract.ts";
import type { ImageCapabilities } from "./image-capabilities.ts";

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

const sketch: ImageCapabilities = {
  compresses: ["jpeg", "webp"],
  // It has no safety system.
  ignores: { moderation: ["low"] },
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

export const sketchCapabilities = (operation: ImageOperation): ImageCapabilities =>
  operation === "edits" ? sketchEdits : sketch;
