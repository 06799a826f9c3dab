/** Runs step 13 inside every attempt, so that a invalidResponse is a fault of that target and the next may be asked. */

import { verifyEmbeddings } from "../embeddings/verify-embeddings.ts";
import { verifyImages } from "../images/verify-images.ts";
import {
  clampEmbeddingsUsage,
  clampImageUsage,
  type ImplausibleUsage,
} from "../ledger/clamp-reported-usage.ts";
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

export interface CheckOptions {
  /** What a target said that it counted, and cannot have. */
  readonly onDisbelieved: (call: StageRequest<unknown>, told: ImplausibleUsage) => void;
}

export interface VectorCheckOptions extends CheckOptions {
  /** It was found out while it was asked. */
  readonly hasDrifted: (route: Route, target: Target) => boolean;
}

export const checkEmbeddings =
  ({ onDisbelieved, hasDrifted }: VectorCheckOptions): Stage<EmbeddingsQuery, EmbeddingsResponse> =>
  (next) =>
  (call) =>
    next(call).then((reply) => {
      if (call.target && hasDrifted(call.route, call.target)) {
        throw invalidResponse("its vectors are not those of the model's other targets");
      }
      if (reply.truncated) {
        call.record.parameters.adapted = [
          ...new Set([...(call.record.parameters.adapted ?? []), "input"]),
        ];
      }
      const verified = verifyEmbeddings(reply, call.query, call.route.dimensions);
      return clampEmbeddingsUsage(verified, call, onDisbelieved);
    });

export const checkImages =
  <Q extends GenerationQuery>({ onDisbelieved }: CheckOptions): Stage<Q, ImageResponse> =>
  (next) =>
  async (call) =>
    clampImageUsage(verified(await next(call)), call.query, (told) => {
      call.record.addStep(`${told.what} not believed`);
      onDisbelieved(call, told);
    });

/** Of several, each is looked at by itself when it is finished: one that is none does not take the others along. */
const verified = (reply: ImageResponse): ImageResponse =>
  reply.kind === "whole" && reply.results.length > 1 ? reply : verifyImages(reply);
