/**
 * List prices of images at Microsoft Foundry. A deployment may have any name; these apply if it is named like its
 * model.
 */
import { type ListedPrice, perImage, perToken } from "./listed-price.ts";

const source =
  "litellm 1.109.1, model_prices_and_context_window.json, after prices.azure.com, 2026-11-17";

const row = (model: RegExp, price: ListedPrice["price"], more = {}): ListedPrice => ({
  kinds: ["azure-ai"],
  model,
  price,
  source,
  ...more,
});

export const foundry: readonly ListedPrice[] = [
  row(/^mai-image-2\.6$/i, perToken(5, 8, undefined, 38)),
  row(/^mai-image-2\.6-flash$/i, perToken(1.75, 2.5, undefined, 19)),
  row(/^gpt-image-2$/i, perToken(5, 8, undefined, 30)),
  // FLUX.2 is charged by input pixels as well, which are not counted.
  row(/^flux\.2-pro$/i, perImage(0.04), { edits: "unknown" }),
  row(/^flux\.2-flex$/i, { megapixel: 0.05 }, { edits: "unknown" }),
  row(/^flux(\.1-kontext|-1\.1)-pro$/i, perImage(0.04)),
];
