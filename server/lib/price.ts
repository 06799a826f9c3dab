/** What an upstream charges, in US dollars. Where there are several parts, a call costs all of them together. */

export interface Price {
  /** For a million tokens, by what they are. */
  readonly tokens?: TokenPrice;
  /**
   * For each picture, by its quality and size: "high 1024x1024", "high", "1024x1024", or "" for all that nothing else is
   * said of. Instead of one size, "<=1024x1024" is every size of at most so many pixels.
   */
  readonly images?: Readonly<Record<string, number>>;
  /** For each million pixels of a picture. */
  readonly megapixel?: number;
}

/** A kind of token without a price is one whose price is not known. */
export interface TokenPrice {
  readonly textIn?: number;
  readonly imageIn?: number;
  readonly textOut?: number;
  readonly imageOut?: number;
}
