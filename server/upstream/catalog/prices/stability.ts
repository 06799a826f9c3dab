/**
 * List prices of Stability's models and services, at Stability and on Amazon Bedrock. Without Amazon's own image
 * models: no list has their prices by quality and size, and they are no longer sold. Also without services whose
 * credits are not listed.
 */
import type { Price } from "../../price.ts";
import { type ListedPrice, litellm, perImage } from "./listed-price.ts";

const update = "stability.ai/api-pricing-update-25, effective 2025-08-01";
/** A credit is a cent: developer.puter.com/tutorials/stability-ai-api-pricing, 2026-06. */
const credits = (count: number): Price => perImage(count / 100);

const generationPrice = (
  name: string,
  count: number,
  edits: ListedPrice["edits"],
): ListedPrice => ({
  kinds: ["stability"],
  model: new RegExp(`^(generate/|stable-image-)*${name}$`),
  price: credits(count),
  ...(edits && { edits }),
  source: `${litellm}; Portkey-AI/models, pricing/stability-ai.json, 2026-08-21`,
});

const editPrice = (names: string, count: number): ListedPrice => ({
  kinds: ["stability"],
  model: new RegExp(`(^|/)(${names})$`),
  price: credits(count),
  source: update,
});

const onBedrock = (names: string, dollars: number): ListedPrice => ({
  kinds: ["bedrock"],
  model: new RegExp(`(^|[./])stability\\.(${names})-v1(:\\d)?$`),
  price: perImage(dollars),
  source: litellm,
});

export const stability: readonly ListedPrice[] = [
  // An edit with a mask is inpainting; without a mask it is the model's own image-to-image. The prices differ.
  generationPrice("ultra", 8, "unknown"),
  generationPrice("sd3(\\.5)?-large", 6.5, "unknown"),
  generationPrice("sd3(\\.5)?-large-turbo", 4, "unknown"),
  generationPrice("sd3(\\.5)?-medium", 3.5, "unknown"),
  // This model has no image-to-image: its edits are inpainting.
  generationPrice("core", 3, credits(5)),
  editPrice("erase|inpaint|remove-background|search-and-replace", 5),
  editPrice("sketch|structure|style", 5),
  editPrice("fast", 2),
  editPrice("conservative", 40),
  editPrice("creative", 60),
  onBedrock("sd3-large|sd3-5-large", 0.08),
  onBedrock("stable-image-core", 0.04),
  onBedrock("stable-image-ultra", 0.14),
  onBedrock("stable-image-(inpaint|erase-object|remove-background)", 0.07),
  onBedrock("stable-image-(search-recolor|search-replace|style-guide)", 0.07),
  onBedrock("stable-image-control-(sketch|structure)", 0.07),
  onBedrock("stable-outpaint", 0.06),
  onBedrock("stable-style-transfer", 0.08),
  onBedrock("stable-fast-upscale", 0.03),
  onBedrock("stable-conservative-upscale", 0.4),
  onBedrock("stable-creative-upscale", 0.6),
];
