/**
 * What FLUX costs at its makers', and what fal and Replicate charge for it and for others. Black Forest Labs says itself
 * what a call costs; these are for answers that do not. FLUX.2 is charged by pixels that go in as well, which nobody counts.
 */
import { each, type Listed, litellm, undated } from "./listed.ts";

const list = `docs.bfl.ml/quick_start/pricing, ${undated}`;

const bfl = (name: string, dollars: number, source = list): Listed => ({
  kinds: ["bfl"],
  model: new RegExp(`^${name}$`),
  price: each(dollars),
  source,
});

/** Of editors that are endpoints of their own, the price is told on another page. */
const fal = (name: string, price: Listed["price"], more: Partial<Listed> = {}): Listed => ({
  kinds: ["fal"],
  model: new RegExp(`^fal-ai/${name}$`),
  price,
  edits: "unknown",
  source: litellm,
  ...more,
});

/**
 * "Images are billed by rounding up to the nearest megapixel." Whether that is a million pixels or 1024 times 1024 is not
 * told, so only sizes are here of which both say the same.
 */
const roundedUp = (dollars: number) => ({
  pictures: { "<=1024x1024": dollars, "<=2000x1000": 2 * dollars },
});

const replicate = (name: string, dollars: number, more: Partial<Listed> = {}): Listed => ({
  kinds: ["replicate"],
  model: new RegExp(`^${name}$`),
  price: each(dollars),
  source: "replicate.com/pricing, 2026-10-07",
  ...more,
});

export const flux: readonly Listed[] = [
  bfl("flux-kontext-pro", 0.04),
  bfl("flux-kontext-max", 0.08),
  bfl("flux-pro-1\\.1", 0.04),
  bfl("flux-pro-1\\.1-ultra", 0.06),
  bfl("flux-pro-1\\.0-fill", 0.05),
  bfl("flux-pro-1\\.0-expand", 0.05, litellm),
  bfl("flux-pro", 0.05, litellm),
  bfl("flux-dev", 0.025, litellm),

  fal("flux(-1)?/dev", roundedUp(0.025), {
    source: `fal.ai/models/fal-ai/flux-1/dev/playground, ${undated}`,
  }),
  fal("flux(-1)?/schnell", roundedUp(0.003)),
  fal("flux-pro/v1\\.1", { pictures: { "<=1024x1024": 0.04 } }),
  fal("flux-pro/v1\\.1-ultra", each(0.06)),
  fal("nano-banana", each(0.039)),
  fal("gemini-25-flash-image", each(0.039)),
  fal("bytedance/seedream/v3/text-to-image", each(0.03)),
  fal("bytedance/dreamina/v3\\.1/text-to-image", each(0.03)),
  // Of the middle speed, which it has unless another is asked for.
  fal("ideogram/v3", each(0.06), { unless: ["rendering_speed"] }),
  fal("imagen4/preview/fast", each(0.02)),
  fal("imagen4/preview/ultra", each(0.06)),

  replicate("black-forest-labs/flux-1\\.1-pro", 0.04),
  replicate("black-forest-labs/flux-dev", 0.025),
  replicate("black-forest-labs/flux-schnell", 0.003),
  replicate("ideogram-ai/ideogram-v3-quality", 0.09),
  replicate("luma/photon", 0.03, { source: `replicate.com/luma/photon, ${undated}` }),
];
