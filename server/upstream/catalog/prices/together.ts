/** List prices of Together: by pixels, or by image. */
import type { Price } from "../../price.ts";
import { type ListedPrice, perImage, puter } from "./listed-price.ts";

const together = (name: string, price: Price): ListedPrice => ({
  kinds: ["together"],
  model: new RegExp(`^${name}$`),
  price,
  // More steps than the default cost extra.
  unless: ["steps"],
  source: puter,
});

const byPixels = (dollars: number): Price => ({ megapixel: dollars });

export const togetherPrices: readonly ListedPrice[] = [
  together("black-forest-labs/FLUX\\.1-schnell", byPixels(0.0027)),
  together("black-forest-labs/FLUX\\.1\\.1-pro", byPixels(0.04)),
  together("black-forest-labs/FLUX\\.1-kontext-pro", byPixels(0.04)),
  together("black-forest-labs/FLUX\\.1-kontext-max", byPixels(0.08)),
  together("black-forest-labs/FLUX\\.1-krea-dev", byPixels(0.025)),
  together("black-forest-labs/FLUX\\.2-dev", perImage(0.0154)),
  together("black-forest-labs/FLUX\\.2-(pro|flex)", perImage(0.03)),
  together("black-forest-labs/FLUX\\.2-max", byPixels(0.07)),
  together("ByteDance-Seed/Seedream-3\\.0", byPixels(0.018)),
  together("ByteDance-Seed/Seedream-4\\.0", byPixels(0.03)),
  together("Qwen/Qwen-Image", byPixels(0.0058)),
  together("Qwen/Qwen-Image-2\\.0", perImage(0.04)),
  together("Qwen/Qwen-Image-2\\.0-Pro", perImage(0.08)),
  together("Wan-AI/Wan2\\.6-image", perImage(0.03)),
  together("google/flash-image-2\\.5", perImage(0.039)),
  together("google/imagen-4\\.0-fast", byPixels(0.02)),
  together("google/imagen-4\\.0-preview", byPixels(0.04)),
  together("google/imagen-4\\.0-ultra", byPixels(0.06)),
  together("ideogram/ideogram-[34]\\.0", byPixels(0.06)),
  together("HiDream-ai/HiDream-I1-Full", byPixels(0.009)),
  together("HiDream-ai/HiDream-I1-Dev", byPixels(0.0045)),
  together("HiDream-ai/HiDream-I1-Fast", byPixels(0.0032)),
  together("RunDiffusion/Juggernaut-pro-flux", byPixels(0.0049)),
  together("Rundiffusion/Juggernaut-Lightning-Flux", byPixels(0.0017)),
  together("Lykon/DreamShaper", byPixels(0.0006)),
  together("stabilityai/stable-diffusion-(3-medium|xl-base-1\\.0)", byPixels(0.0019)),
];
