/** Image capabilities of the Seedream models of Volcengine's Ark. */
import type { ImageOperation } from "../../contract.ts";
import {
  type EditCapabilities,
  type ImageCapabilities,
  type OptionName,
  pixelRange,
  type Sizes,
} from "../../image-capabilities.ts";

/** docs.byteplus.com/en/docs/ModelArk/1541523 */
const inputImages = (maxImages: number, reads?: readonly string[]): EditCapabilities => ({
  maxImages,
  links: true,
  maxBytes: 10 * 1024 * 1024,
  ...(reads && { reads }),
});

type Takes = Partial<Record<OptionName, readonly string[]>>;

const links: Takes = { response_format: ["url", "b64_json"] };

/** No model has a field for several similar images: each request is for one. */
const capabilities = (more: Partial<ImageCapabilities>): ImageCapabilities => ({
  maxImages: 1,
  takes: links,
  sizes: "any",
  ...more,
});

/** The name of a resolution, or two edges whose product and ratio are within bounds. */
const sizes = (
  minPixels: number,
  maxPixels: number,
  ...names: string[]
): { readonly sizes: Sizes } => ({ sizes: { ...pixelRange(minPixels, maxPixels, 16), names } });

const formats: Takes = { ...links, output_format: ["png", "jpeg"] };

/**
 * The first match applies. The page named above for 3.0, 4.0, 4.5 and the least size of 5.0 lite, and with 5.0 pro in
 * Volcengine's copy of it, docs.volcengine.com/docs/82379/1541523 (2026-07). Its first version had at most 10,404,496
 * pixels and 3K for lite, which now has 4K: runwayml 5.24.0 has 16,777,216. The sizes of 5.0 flash are not documented.
 * For the rest of 5.0 only resellers' documentation:
 * runware.ai/docs/models, bytedance-seedream-5-0-flash (ten images, transparency), and InvokeAI's guide to Seedream
 * (fourteen images with the plain model). So only the newest models get an output format, and only these edit with
 * transparency.
 */
export function seedreamImageCapabilities(
  model: string,
  operation: ImageOperation,
): ImageCapabilities {
  if (/seedream-5[-.]0-(pro|flash)/.test(model)) {
    const takes: Takes =
      operation === "edits" ? { ...formats, background: ["transparent"] } : formats;
    const isPro = /seedream-5[-.]0-pro/.test(model);
    return capabilities({
      takes,
      ...(isPro && sizes(921_600, 4_624_220, "1K", "1.5K", "2K")),
      edits: inputImages(10),
    });
  }
  if (/seedream-5[-.]/.test(model)) {
    const isLite = /seedream-5[-.]0(-lite|-\d|$)/.test(model);
    return capabilities({
      takes: formats,
      ...(isLite && sizes(3_686_400, 16_777_216, "2K", "3K", "4K")),
      streams: true,
      edits: inputImages(14),
    });
  }
  if (/seedream-4[-.]5/.test(model)) {
    return capabilities({
      ...sizes(3_686_400, 16_777_216, "2K", "4K"),
      streams: true,
      edits: inputImages(14),
    });
  }
  if (/seedream-4[-.]0/.test(model)) {
    return capabilities({
      ...sizes(921_600, 16_777_216, "1K", "2K", "4K"),
      streams: true,
      edits: inputImages(14),
    });
  }
  if (/seedream-4[-.]/.test(model)) return capabilities({ streams: true, edits: inputImages(14) });
  if (/seedream-3[-.]/.test(model)) {
    return capabilities({
      sizes: { rule: { multipleOf: 1, minEdge: 512, maxEdge: 2048 } },
    });
  }
  if (/seededit/.test(model)) {
    return capabilities({
      sizes: { list: ["adaptive"] },
      edits: inputImages(1, ["image/png", "image/jpeg"]),
    });
  }
  // The id of a dedicated endpoint (`ep-…`) does not show the model behind it.
  return capabilities({ edits: inputImages(10) });
}
