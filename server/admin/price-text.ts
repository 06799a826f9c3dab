/** The price of a model in words. Several targets with different prices give a range. */
import type { Model } from "../config/snapshot.ts";
import type { Price } from "../lib/price.ts";
import { listedImagePrice, priceOf } from "../upstream/catalog/prices/index.ts";

/** null: not known. */
export function priceText(model: Model): string | null {
  const texts = model.targets.map((target) =>
    model.kind === "embedding"
      ? tokenText(priceOf(target))
      : imageText(
          target.price ?? listedImagePrice(target, { operation: "generations", extraFields: {} }),
        ),
  );
  const known = [...new Set(texts.filter((text) => text !== null))];
  return known.length === 0 ? null : known.join(" or ");
}

const dollars = (amount: number): string => `$${Number(amount.toPrecision(6))}`;

const tokenText = (price: number | null): string | null => {
  if (price === null) return null;
  return price === 0 ? "free" : `${dollars(price)} per million tokens`;
};

function imageText(price: Price | undefined): string | null {
  if (!price) return null;
  const parts = [
    price.images && perImage(Object.values(price.images)),
    price.megapixel !== undefined && `${dollars(price.megapixel)} per megapixel`,
    price.tokens?.imageOut !== undefined &&
      `${dollars(price.tokens.imageOut)} per million output tokens`,
  ];
  const texts = parts.filter((text) => typeof text === "string");
  return texts.length === 0 ? null : texts.join(" + ");
}

function perImage(prices: readonly number[]): string {
  const [low, high] = [Math.min(...prices), Math.max(...prices)];
  if (high === 0) return "free";
  return low === high
    ? `${dollars(low)} per image`
    : `${dollars(low)} to ${dollars(high)} per image`;
}
