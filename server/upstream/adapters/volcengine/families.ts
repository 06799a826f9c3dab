/** Image capabilities of the Seedream models of Volcengine's Ark. */
import type { EditCapabilities, ImageCapabilities, OptionName } from "../../image-capabilities.ts";

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
  // Names such as 2K, or any two edges whose product is within the model's bounds.
  sizes: "any",
  ...more,
});

const formats: Takes = { ...links, output_format: ["png", "jpeg"] };

/**
 * The first match applies. The page named above for 3.0, 4.0 and 4.5. For 5.0 only resellers' documentation:
 * runware.ai/docs/models, bytedance-seedream-5-0-flash (ten images, transparency), and InvokeAI's guide to Seedream
 * (fourteen images with the plain model). So only the newest models get an output format, and only these edit with
 * transparency.
 */
export function seedreamImageCapabilities(
  model: string,
  operation: "generations" | "edits",
): ImageCapabilities {
  if (/seedream-5[-.]0-(pro|flash)/.test(model)) {
    const takes: Takes =
      operation === "edits" ? { ...formats, background: ["transparent"] } : formats;
    return capabilities({ takes, edits: inputImages(10) });
  }
  if (/seedream-5[-.]/.test(model)) {
    return capabilities({ takes: formats, streams: true, edits: inputImages(14) });
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
