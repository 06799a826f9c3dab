/**
 * Verifies the upstream response inside every attempt: an invalid one is a failure of that target, and the next target
 * is tried.
 */

import { verifyEmbeddings } from "../embeddings/verify-embeddings.ts";
import { verifyImages } from "../images/verify-images.ts";
import {
  dropImplausibleEmbeddingsUsage,
  dropImplausibleImageUsage,
  type ImplausibleUsage,
} from "../ledger/drop-implausible-usage.ts";
import type { Route } from "../request/caller.ts";
import { invalidResponse } from "../request/invalid-response.ts";
import type { Stage, StageRequest } from "../request/stage.ts";
import type {
  EmbeddingsQuery,
  EmbeddingsResponse,
  GenerationQuery,
  ImageResponse,
  Target,
} from "../upstream/contract.ts";

export interface VerifyOptions {
  /** Called when a target reports impossible usage. */
  readonly onImplausibleUsage: (request: StageRequest<unknown>, usage: ImplausibleUsage) => void;
}

export interface VerifyEmbeddingsOptions extends VerifyOptions {
  /** The drift canary found that the target drifted while the request was in flight. */
  readonly hasDrifted: (route: Route, target: Target) => boolean;
}

export const verifyEmbeddingsStage =
  ({
    onImplausibleUsage,
    hasDrifted,
  }: VerifyEmbeddingsOptions): Stage<EmbeddingsQuery, EmbeddingsResponse> =>
  (next) =>
  (request) =>
    next(request).then((response) => {
      if (request.target && hasDrifted(request.route, request.target)) {
        throw invalidResponse(
          "its vectors are not in the vector space of the model's other targets",
        );
      }
      if (response.truncated) {
        request.record.parameters.adapted = [
          ...new Set([...(request.record.parameters.adapted ?? []), "input"]),
        ];
      }
      const verified = verifyEmbeddings(response, request.query, request.route.dimensions);
      return dropImplausibleEmbeddingsUsage(verified, request, onImplausibleUsage);
    });

export const verifyImagesStage =
  <Q extends GenerationQuery>({ onImplausibleUsage }: VerifyOptions): Stage<Q, ImageResponse> =>
  (next) =>
  async (request) =>
    dropImplausibleImageUsage(verifyOne(await next(request)), request.query, (implausible) => {
      request.record.addStep(`${implausible.what} implausible`);
      onImplausibleUsage(request, implausible);
    });

/** Each of several images is verified when it is post-processed: an invalid one does not fail the others. */
const verifyOne = (response: ImageResponse): ImageResponse =>
  response.kind === "buffered" && response.results.length > 1 ? response : verifyImages(response);
