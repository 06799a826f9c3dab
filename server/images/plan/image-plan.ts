/** The plan of an image request for one target: the upstream requests, and the post-processing of their images. */
import type { Parameters } from "../../config/snapshot.ts";
import type { GenerationQuery, ImageOptions } from "../../upstream/contract.ts";

/**
 * `adapt`: the gateway emulates what the target lacks where it can, and rejects the rest. `drop`: as `adapt`, but the
 * rest is dropped. `strict`: whatever the target lacks is rejected. `pass`: the request is passed through to targets
 * with an OpenAI-compatible API.
 */
export type Policy = Parameters;

/** How an image is post-processed. */
export interface PostProcessing {
  readonly format?: "png" | "jpeg" | "webp";
  /** 0 to 100. */
  readonly compression?: number;
  /** The compression for a target that supports it: applied only where the gateway has to convert the format. */
  readonly fallbackCompression?: number;
  /** The image is flattened: transparency is removed. */
  readonly opaque?: true;
  /** How it is delivered. Absent: as the upstream sent it. */
  readonly as?: "url" | "b64_json";
}

export interface Plan<Q extends GenerationQuery> {
  /** The query for the target. */
  readonly query: Q;
  /** The number of images of each upstream request. */
  readonly requestCounts: readonly number[];
  readonly postProcessing: PostProcessing;
  /** Fields that the gateway emulates or changes. */
  readonly adapted: readonly string[];
  /** Fields that are dropped. */
  readonly dropped: readonly string[];
}

/** The mutable state of a plan in progress. */
export interface Draft {
  readonly policy: Policy;
  /** The public id, for messages. */
  readonly model: string;
  readonly adapted: string[];
  readonly dropped: string[];
  options: { -readonly [K in keyof ImageOptions]: ImageOptions[K] };
  shape?: Pick<GenerationQuery, "aspectRatio" | "requestedSize">;
  postProcessing: { -readonly [K in keyof PostProcessing]: PostProcessing[K] };
}
