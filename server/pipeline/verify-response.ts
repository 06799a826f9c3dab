/**
 * Verifies the upstream response inside every attempt: the number and length of the vectors, no NaN or Infinity, no
 * zero vector; the type of images. An invalid response is a failure of that target. The next target is then tried, but
 * not for an image that may have been billed, unless the model sets `retryPaid`.
 */

import { itemsOf } from "../embeddings/split.ts";
import { inspectVector } from "../embeddings/vector-formats.ts";
import { imageTypeOf } from "../images/image-head.ts";
import {
  dropImplausibleEmbeddingsUsage,
  dropImplausibleImageUsage,
  type ImplausibleUsage,
} from "../ledger/drop-implausible-usage.ts";
import type { PermittedModel } from "../request/caller.ts";
import { invalidResponse } from "../request/error-response.ts";
import type { Stage, StageRequest } from "../request/stage.ts";
import type {
  EmbeddingsQuery,
  EmbeddingsResponse,
  GenerationQuery,
  ImageContent,
  ImageEvent,
  ImageResponse,
  Target,
  Vector,
} from "../upstream/contract.ts";

export interface VerifyOptions {
  /** Called when a target reports impossible usage. */
  readonly onImplausibleUsage: (request: StageRequest<unknown>, usage: ImplausibleUsage) => void;
}

interface VerifyEmbeddingsOptions extends VerifyOptions {
  /** The drift canary found that the target drifted while the request was in flight. */
  readonly hasDrifted: (route: PermittedModel, target: Target) => boolean;
}

export const verifyEmbeddingsStage =
  ({
    onImplausibleUsage,
    hasDrifted,
  }: VerifyEmbeddingsOptions): Stage<EmbeddingsQuery, EmbeddingsResponse> =>
  (next) =>
  (request) =>
    next(request).then((response) => {
      const { target, route } = request;
      // A single target has no other to be compared with.
      if (target && route.targets.length > 1 && hasDrifted(route, target)) {
        throw invalidResponse(
          "its vectors are not in the vector space of the model's other targets",
        );
      }
      if (response.truncated) {
        request.record.parameters.adapted = [
          ...new Set([...(request.record.parameters.adapted ?? []), "input"]),
        ];
      }
      const verified = verifyEmbeddings(response, request.query, route.dimensions);
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

/** Verifies an embeddings response: one vector for each input, all of one length, finite and not zero. */
export function verifyEmbeddings(
  response: EmbeddingsResponse,
  query: EmbeddingsQuery,
  nativeDimensions: number | undefined,
): EmbeddingsResponse {
  const { input, dimensions } = query;
  const expected = itemsOf(input);
  if (response.vectors.length !== expected) {
    throw invalidResponse(`${response.vectors.length} vectors for ${expected} inputs`);
  }
  let length = dimensions ?? nativeDimensions;
  const { vectors } = response;
  for (let at = 0; at < vectors.length; at++) {
    const inspected = inspectVector(vectors[at] as Vector);
    if (!inspected) throw invalidResponse(`vector ${at} is not base64 of float32 numbers`);
    length ??= inspected.length;
    if (inspected.length !== length || length === 0) {
      throw invalidResponse(`vector ${at} has ${inspected.length} dimensions instead of ${length}`);
    }
    if (inspected.validity === "valid") continue;
    throw invalidResponse(
      inspected.validity === "zero"
        ? `vector ${at} is all zeros`
        : `vector ${at} contains a value that is not a finite number`,
    );
  }
  return response;
}

/** Verifies an image response: every image is an image or a link, and a stream ends with a completed image. */
export function verifyImages(response: ImageResponse): ImageResponse {
  if (response.kind === "stream") return { kind: "stream", events: verifyEvents(response.events) };
  if (response.results.length === 0) throw invalidResponse("it contains no image");
  for (const result of response.results) checkImage(result.image);
  return response;
}

/** Completed images are checked one by one during post-processing: one invalid image does not fail the others. */
async function* verifyEvents(events: AsyncIterable<ImageEvent>): AsyncIterable<ImageEvent> {
  let completed = 0;
  for await (const event of events) {
    if (event.type === "buffered") completed += event.response.results.length;
    else if (event.type === "completed") completed++;
    // A partial image is optional: an invalid one is dropped.
    else if (imageTypeOf(event.image) === undefined) continue;
    yield event;
  }
  if (completed === 0) throw invalidResponse("the stream ended before the image was complete");
}

function checkImage(image: ImageContent): void {
  if (image.kind === "url") {
    if (!/^(https?:\/\/|data:image\/)/.test(image.url))
      throw invalidResponse("it contains a URL that is not valid");
  } else if (imageTypeOf(image) === undefined)
    throw invalidResponse("it contains data that is not an image");
}
