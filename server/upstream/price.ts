/** Prices of an upstream, in US dollars. If several apply, the cost of a request is their sum. */

export interface Price {
  /** Per million tokens, by kind of token. */
  readonly tokens?: TokenPrice;
  /**
   * Per image, by quality and size: "high 1024x1024", "high", "1024x1024", or "" for all others. "<=1024x1024" matches
   * every size with at most as many pixels.
   */
  readonly images?: Readonly<Record<string, number>>;
  /** Per million pixels of an image. */
  readonly megapixel?: number;
}

/** A kind of token without an entry has an unknown price. */
export interface TokenPrice {
  readonly textIn?: number;
  readonly imageIn?: number;
  readonly textOut?: number;
  readonly imageOut?: number;
}

/** What an embedding model costs for an image, beside its text. If several apply, the cost is their sum. */
export interface ImageInputPrice {
  /** Per million image tokens. */
  readonly tokens?: number;
  /** Per image. */
  readonly image?: number;
  /** Per million pixels. */
  readonly megapixel?: number;
}
