/**
 * List prices of FLUX at Black Forest Labs, and of FLUX and other models at Replicate. Black Forest Labs reports the
 * cost of a request; these prices are for responses without it. FLUX.2 is not listed: it is charged by input pixels as
 * well, which are not counted.
 */
import { type ListedPrice, litellm, perImage, undated } from "./listed-price.ts";

const list = `docs.bfl.ml/quick_start/pricing, ${undated}`;

const bfl = (name: string, dollars: number, source = list): ListedPrice => ({
  kinds: ["bfl"],
  model: new RegExp(`^${name}$`),
  price: perImage(dollars),
  source,
});

const replicate = (
  name: string,
  dollars: number,
  more: Partial<ListedPrice> = {},
): ListedPrice => ({
  kinds: ["replicate"],
  model: new RegExp(`^${name}$`),
  price: perImage(dollars),
  source: "replicate.com/pricing, 2026-10-07",
  ...more,
});

export const flux: readonly ListedPrice[] = [
  bfl("flux-kontext-pro", 0.04),
  bfl("flux-kontext-max", 0.08),
  bfl("flux-pro-1\\.1", 0.04),
  bfl("flux-pro-1\\.1-ultra", 0.06),
  bfl("flux-pro-1\\.0-fill", 0.05),
  bfl("flux-pro-1\\.0-expand", 0.05, litellm),
  bfl("flux-pro", 0.05, litellm),
  bfl("flux-dev", 0.025, litellm),

  replicate("black-forest-labs/flux-1\\.1-pro", 0.04),
  replicate("black-forest-labs/flux-dev", 0.025),
  replicate("black-forest-labs/flux-schnell", 0.003),
  replicate("ideogram-ai/ideogram-v3-quality", 0.09),
  replicate("luma/photon", 0.03, { source: `replicate.com/luma/photon, ${undated}` }),
];
