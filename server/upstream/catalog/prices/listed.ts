/** A list price of a vendor. Prices change: each row names its source and the date it was read. */
import type { Price } from "../../../lib/price.ts";

export interface ListedPrice {
  /** The kinds of upstream that charge this. */
  readonly kinds: readonly string[];
  /** The vendor's names for the model. */
  readonly model: RegExp;
  readonly price: Price;
  /** Of edits, where they cost something else; `unknown` where the list does not tell. Absent: the same. */
  readonly edits?: Price | "unknown";
  /** Fields of the vendor's own that make it dearer or cheaper: with one of them in a call, the price is not known. */
  readonly unless?: readonly string[];
  /** Only at addresses like this one: elsewhere the same vendor charges another price, or in another currency. */
  readonly at?: RegExp;
  /** Where it is from, and when it was read. */
  readonly source: string;
}

/** The wheel on PyPI, downloaded 2026-11-15: the same file, newer. */
export const litellmNow = "litellm 1.108.4, model_prices_and_context_window.json, 2026-11-15";
export const litellm = "BerriAI/litellm, model_prices_and_context_window.json, 2026-08-05";
/** Of pages that bear no date: when a copy of them was read, which may be older. */
export const undated = "a copy read 2026-11";
/** Puter pays these vendors' bills with it. Its files name the vendors' price lists. */
export const puter = "HeyPuter/puter, src/backend/drivers/ai-image/providers, 2026-08-21";

/** The same for every picture. */
export const perImage = (dollars: number): Price => ({ images: { "": dollars } });

/** In for text and for pictures, out for text and for pictures. */
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
