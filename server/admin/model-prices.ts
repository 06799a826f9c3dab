/** The distinct prices of a model: its targets may have different prices. */
import { isDeepStrictEqual } from "node:util";
import type { PricePart, ShownPrice } from "../../contract/admin.ts";
import type { Model } from "../config/snapshot.ts";
import { listedImagePrice } from "../upstream/catalog/prices/model-price.ts";
import type { ImageInputPrice, Price } from "../upstream/price.ts";

/** Empty: no price is known. */
export function modelPrices(model: Model): readonly ShownPrice[] {
  const prices = model.targets
    .map((target) =>
      model.kind === "embedding"
        ? [...tokenParts(target.tokenPrice), ...imageInputParts(target.imageInputPrice)]
        : imageParts(
            target.price ?? listedImagePrice(target, { operation: "generations", extraFields: {} }),
          ),
    )
    .filter((parts) => parts.length > 0);
  return prices
    .filter((parts, at) => prices.findIndex((other) => isDeepStrictEqual(parts, other)) === at)
    .map((parts) => ({ parts }));
}

const part = (unit: PricePart["unit"], ...amounts: readonly number[]): PricePart => ({
  unit,
  from: Math.min(...amounts),
  to: Math.max(...amounts),
});

const tokenParts = (price: number | undefined): readonly PricePart[] =>
  price === undefined ? [] : [part("million_tokens", price)];

const imageInputParts = (price: ImageInputPrice | undefined): readonly PricePart[] => [
  ...(price?.tokens === undefined ? [] : [part("million_image_tokens", price.tokens)]),
  ...(price?.image === undefined ? [] : [part("image", price.image)]),
  ...(price?.megapixel === undefined ? [] : [part("megapixel", price.megapixel)]),
];

const imageParts = (price: Price | undefined): readonly PricePart[] => [
  ...(price?.images ? [part("image", ...Object.values(price.images))] : []),
  ...(price?.megapixel === undefined ? [] : [part("megapixel", price.megapixel)]),
  ...(price?.tokens?.imageOut === undefined
    ? []
    : [part("million_output_tokens", price.tokens.imageOut)]),
];
