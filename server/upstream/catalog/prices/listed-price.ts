/** A list price of a vendor. Prices change: each row names its source and the date it was read. */
import type { Price } from "../../price.ts";

export interface ListedPrice {
  /** The kinds of upstream that charge this. */
  readonly kinds: readonly string[];
  /** The vendor's names for the model. */
  readonly model: RegExp;
  readonly price: Price;
  /** Price of edits, if it differs; `unknown` if the list does not have it. If absent, the same. */
  readonly edits?: Price | "unknown";
  /** Passthrough fields that change the price: with one of them in a request, the price is not known. */
  readonly unless?: readonly string[];
  /** Only at addresses like this one: elsewhere the same vendor charges another price, or in another currency. */
  readonly at?: RegExp;
  /** Where it is from, and when it was read. */
  readonly source: string;
}

/** A newer version of the file below, from the wheel on PyPI, downloaded 2026-11-15. */
export const litellmNow = "litellm 1.108.4, model_prices_and_context_window.json, 2026-11-15";
export const litellm = "BerriAI/litellm, model_prices_and_context_window.json, 2026-08-05";
/** For pages without a date: when a copy of the page was read. The page may be older. */
export const undated = "a copy read 2026-11";
/** Puter computes its vendors' costs with these files, which name the vendors' price lists. */
export const puter = "HeyPuter/puter, src/backend/drivers/ai-image/providers, 2026-08-21";

/** One price for every image. */
export const perImage = (dollars: number): Price => ({ images: { "": dollars } });

/** Input price of text and of images, output price of text and of images. */
export const perToken = (
  textIn: number,
  imageIn: number | undefined,
  textOut: number | undefined,
  imageOut: number,
): Price => ({
  tokens: {
    textIn,
    imageOut,
    ...(imageIn !== undefined && { imageIn }),
    ...(textOut !== undefined && { textOut }),
  },
});
