/** Image capabilities of the built-in models, by the kind of their upstream. */
import { type ImageCapabilities, unrestrictedImages } from "./image-capabilities.ts";

const { mayIgnoreN: _, ...withKnownN } = unrestrictedImages;

/** Values outside `takes` are sent as well: the models validate their options themselves. */
const builtInImages: ImageCapabilities = {
  ...withKnownN,
  undocumentedOptions: unrestrictedImages.takes,
  compresses: ["jpeg", "webp"],
};

/** The drawing program supports one extra field, `seed`. */
const sketch: ImageCapabilities = {
  ...builtInImages,
  takes: {
    quality: ["low", "medium", "high", "xhigh", "max", "auto"],
    background: ["transparent", "opaque", "auto"],
    style: ["vivid", "natural"],
    complexity: ["low", "medium", "high"],
    moderation: ["low", "auto"],
    output_format: ["png", "jpeg", "webp", "gif", "svg"],
    output_compression: "any",
    frame_count: "any",
    frame_duration_ms: "any",
    input_fidelity: ["high", "low"],
    partial_images: "any",
    response_format: ["url", "b64_json"],
  },
  streams: true,
  extras: ["seed"],
};

/** MI-GAN fills the masked area of one image. */
const migan: ImageCapabilities = {
  ...builtInImages,
  maxImages: 1,
  takes: {
    background: ["opaque", "auto"],
    output_format: ["png", "jpeg", "webp"],
    output_compression: "any",
    response_format: ["url", "b64_json"],
  },
  streams: false,
  extras: [],
  edits: { maxImages: 1, mask: "transparent" },
};

export const builtInImageCapabilities = (kind: string): ImageCapabilities =>
  kind === "migan" ? migan : sketch;
