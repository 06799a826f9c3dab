/** Rate limits per minute and concurrency limits: of an API key, a project, a model, an upstream or a target. */

export interface Limits {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly imagesPerMinute?: number;
  /** Millions of pixels. */
  readonly megapixelsPerMinute?: number;
  /** Requests in flight at the same time. */
  readonly concurrent?: number;
}
