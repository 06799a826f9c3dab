/**
 * The stages of each operation, in order. The order decides what is charged, cached and retried, so only this file
 * defines it.
 */

import {
  adaptParameters,
  checkParameters,
  type EmbeddingCapabilitiesOf,
  learnCapabilities,
  supportsParameters,
} from "../embeddings/adapt-parameters.ts";
import { type CacheStageOptions, cacheStage } from "../embeddings/cache/cache-stage.ts";
import { chargeEmbeddings, reportServed } from "../embeddings/embedding-usage.ts";
import { type MicroBatchOptions, microBatch } from "../embeddings/micro-batch.ts";
import type { ConvertImages, LoadImages } from "../embeddings/multimodal/embed-mixed.ts";
import { split } from "../embeddings/split.ts";
import { generate, type ImageTools, rejectionReason } from "../images/generate.ts";
import { type CheckPrompt, moderate } from "../images/moderate.ts";
import { limitImageCount, preflight } from "../images/preflight.ts";
import { convertStream } from "../images/stream-conversion.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { enforceTargetLimits, type TargetLimitOptions } from "../limits/target-limits.ts";
import type { PermittedModel } from "../request/caller.ts";
import { composeStages, type Send, type StageRequest } from "../request/stage.ts";
import { targetName } from "../request/timeline.ts";
import { watchStreamEnd } from "../routing/attempt.ts";
import { requestSizeClassOf } from "../routing/health/latency-stats.ts";
import { routeRequest } from "../routing/route-request.ts";
import {
  expectedEmbeddingPrice,
  expectedImagePrice,
  targetCapacity,
  targetQueue,
} from "../routing/routing-options.ts";
import type { TargetRegistry } from "../routing/target-registry.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import type {
  EditQuery,
  EmbeddingsQuery,
  EmbeddingsResponse,
  GenerationQuery,
  ImageResponse,
  Target,
} from "../upstream/contract.ts";
import { type VerifyOptions, verifyEmbeddingsStage, verifyImagesStage } from "./verify-response.ts";

export interface StageLists {
  readonly embeddings: Send<EmbeddingsQuery, EmbeddingsResponse>;
  readonly generations: Send<GenerationQuery, ImageResponse>;
  readonly edits: Send<EditQuery, ImageResponse>;
}

interface EmbeddingStagesOptions extends VerifyOptions {
  readonly capabilities: EmbeddingCapabilitiesOf;
  readonly loadImages: LoadImages;
  readonly convertImages: ConvertImages;
  readonly cache: CacheStageOptions;
  readonly microBatch: Omit<MicroBatchOptions, "capabilities">;
  readonly registry: TargetRegistry;
  readonly limits: TargetLimitOptions;
  /** The drift canary excludes the target. */
  readonly isExcluded: (model: PermittedModel, target: Target) => boolean;
  /** The target's vectors now belong to another vector space. */
  readonly hasDrifted: (model: PermittedModel, target: Target) => boolean;
}

export const embeddingsStages = (
  upstream: UpstreamClient["embeddings"],
  {
    capabilities,
    loadImages,
    convertImages,
    cache,
    microBatch: microBatching,
    registry,
    limits,
    isExcluded,
    hasDrifted,
    onImplausibleUsage,
  }: EmbeddingStagesOptions,
): Send<EmbeddingsQuery, EmbeddingsResponse> => {
  const learned = learnCapabilities(capabilities);
  const canAdapt = supportsParameters(learned.capabilities);
  const canServe = (request: StageRequest<EmbeddingsQuery>, target: Target): boolean =>
    !isExcluded(request.model, target) && canAdapt(request, target);
  const capacity = targetCapacity(limits.admission, limits.clock, "embedding");
  const queue = targetQueue(limits.admission);
  return composeStages(
    [
      checkParameters(learned.capabilities, loadImages),
      cacheStage(cache),
      split({ capabilities, generation: () => cache.cache.generation }),
      reportServed,
      routeRequest({
        registry,
        canServe,
        sizeClassOf: requestSizeClassOf,
        priceOf: expectedEmbeddingPrice,
        capacity,
        queue,
        charge: chargeEmbeddings,
      }),
      microBatch({ ...microBatching, capabilities }),
      verifyEmbeddingsStage({ onImplausibleUsage, hasDrifted }),
      adaptParameters(learned, convertImages),
      enforceTargetLimits(limits),
    ],
    upstream,
  );
};

interface ImageStagesOptions extends VerifyOptions {
  readonly tools: ImageTools;
  readonly checkPrompt: CheckPrompt;
  /** Checks the health of a target by a request that costs nothing. */
  readonly checkHealth: (target: Target) => Promise<boolean>;
  readonly registry: TargetRegistry;
  readonly limits: TargetLimitOptions;
}

export const imageStages = (
  upstream: Pick<UpstreamClient, "generations" | "edits">,
  { tools, checkPrompt, checkHealth, registry, limits, onImplausibleUsage }: ImageStagesOptions,
): Pick<StageLists, "generations" | "edits"> => {
  const reasonToReject = rejectionReason(tools.capabilitiesOf);
  const capacity = targetCapacity(limits.admission, limits.clock, "image");
  const queue = targetQueue(limits.admission);
  const requireTarget = <Q extends GenerationQuery>(request: StageRequest<Q>): void =>
    registry.assertAvailable(
      request.model,
      capacity,
      (target) => reasonToReject(request, target) === undefined,
    );
  const stages = <Q extends GenerationQuery>() => [
    limitImageCount<Q>(),
    preflight<Q>({ rejectionReason: reasonToReject, ...tools }),
    moderate<Q>({ checkPrompt, requireAvailableTarget: requireTarget }),
    convertStream<Q>(),
    routeRequest<Q, ImageResponse>({
      registry,
      canServe: (request, target) => canServe(reasonToReject, request, target),
      priceOf: expectedImagePrice,
      capacity,
      queue,
      watchEnd: watchStreamEnd,
      checkHealth,
    }),
    generate<Q>(tools),
    verifyImagesStage<Q>({ onImplausibleUsage }),
    enforceTargetLimits<Q, ImageResponse>(limits),
  ];
  return {
    generations: composeStages(stages<GenerationQuery>(), upstream.generations),
    edits: composeStages(stages<EditQuery>(), upstream.edits),
  };
};

/** A target that cannot serve the request is named in the steps of its record. */
function canServe<Q extends GenerationQuery>(
  reasonToReject: ReturnType<typeof rejectionReason>,
  request: StageRequest<Q>,
  target: Target,
): boolean {
  const reason = reasonToReject(request, target);
  if (reason instanceof GatewayError)
    request.report.addStep("unsupported", { target: targetName(target), error: reason.kind });
  return reason === undefined;
}
