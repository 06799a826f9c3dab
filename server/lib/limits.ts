/** How much may be asked for in a minute, and at once: of a key, a project, a model, an upstream or a target. */

export interface Limits {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly imagesPerMinute?: number;
  /** Millions of pixels. */
  readonly megapixelsPerMinute?: number;
  /** Calls at the same time. */
  readonly concurrent?: number;
}
