/** The stages of each operation, in order. Order is policy, so it is all in this file. */

import {
  adaptParameters,
  type CapabilitiesOf,
  checkParameters,
  learnCapabilities,
  supportsParameters,
} from "../embeddings/adapt-parameters.ts";
import { type BatchOptions, batch } from "../embeddings/batch.ts";
import { type CacheStageOptions, cacheStage } from "../embeddings/cache/cache-stage.ts";
import { cacheOnly } from "../embeddings/cache-only.ts";
import { split } from "../embeddings/split.ts";
import { fillMissing } from "../images/fill-missing.ts";
import { generate, type ImageTools, rejectionReason } from "../images/generate.ts";
import { moderate } from "../images/moderate.ts";
import { limitImageCount, preflight } from "../images/preflight-stage.ts";
import { convertStream } from "../images/stream-conversion.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { enforceTargetLimits, type TargetLimitOptions } from "../limits/target-limits.ts";
import type { Route } from "../request/caller.ts";
import { type Answering, first, type Send, type StageRequest, through } from "../request/stage.ts";
import { embeddingPrice, imagePrice } from "../routing/expected-price.ts";
import { sizeClassOf } from "../routing/request-size.ts";
import { routeRequest } from "../routing/route-request.ts";
import { addStep } from "../routing/routing-steps.ts";
import { targetCapacity, targetQueue } from "../routing/target-capacity.ts";
import type { TargetRegistry } from "../routing/target-registry.ts";
import { watchStreamEnd } from "../routing/watch-stream-end.ts";
import type { UpstreamClient } from "../upstream/client.ts";
import type {
  EditQuery,
  EmbeddingsQuery,
  EmbeddingsResponse,
  GenerationQuery,
  ImageResponse,
  Target,
} from "../upstream/contract.ts";
import { type CheckOptions, checkEmbeddings, checkImages } from "./verify-stage.ts";

export interface Stacks {
  readonly embeddings: Answering<EmbeddingsQuery, EmbeddingsResponse>;
  readonly generations: Send<GenerationQuery, ImageResponse>;
  readonly edits: Send<EditQuery, ImageResponse>;
}

export interface EmbeddingStages extends CheckOptions {
  readonly traits: CapabilitiesOf;
  readonly memory: CacheStageOptions;
  readonly batch: Omit<BatchOptions, "capabilities">;
  readonly roster: TargetRegistry;
  readonly limits: TargetLimitOptions;
  /** Not to be asked, whatever it could do. */
  readonly isExcluded: (route: Route, target: Target) => boolean;
  /** Not to be believed. */
  readonly hasDrifted: (route: Route, target: Target) => boolean;
}

export const embeddingsStack = (
  reach: UpstreamClient["embeddings"],
  {
    traits,
    memory,
    batch: together,
    roster: registry,
    limits,
    isExcluded,
    hasDrifted,
    onDisbelieved,
  }: EmbeddingStages,
): Answering<EmbeddingsQuery, EmbeddingsResponse> => {
  const learned = learnCapabilities(traits);
  const canDo = supportsParameters(learned.capabilities);
  const canServe = (call: StageRequest<EmbeddingsQuery>, target: Target): boolean =>
    !isExcluded(call.route, target) && canDo(call, target);
  const capacity = targetCapacity(limits.admission, limits.clock, "embedding");
  const queue = targetQueue(limits.admission);
  const unknown = through(
    [
      cacheOnly,
      split({ capabilities: traits }),
      routeRequest({
        registry,
        canServe,
        sizeClassOf: sizeClassOf,
        priceOf: embeddingPrice,
        capacity,
        queue,
      }),
      batch({ ...together, capabilities: traits }),
      checkEmbeddings({ onDisbelieved, hasDrifted }),
      adaptParameters(learned),
      enforceTargetLimits(limits),
    ],
    (call) => reach(call.query, targetOf(call), call.signal),
  );
  return first(
    [
      checkParameters(learned.capabilities),
      // What is known is there at once.
      cacheStage(memory),
    ],
    unknown,
  );
};

export interface ImageStages extends CheckOptions {
  readonly tools: ImageTools;
  readonly moderation: UpstreamClient["moderation"];
  /** By a question that costs nothing. */
  readonly isThere: (target: Target) => Promise<boolean>;
  readonly roster: TargetRegistry;
  readonly limits: TargetLimitOptions;
}

export const imageStacks = (
  reach: Pick<UpstreamClient, "generations" | "edits">,
  { tools, moderation, isThere: checkHealth, roster: registry, limits, onDisbelieved }: ImageStages,
): Pick<Stacks, "generations" | "edits"> => {
  const objects = rejectionReason(tools.traits);
  const capacity = targetCapacity(limits.admission, limits.clock, "image");
  const queue = targetQueue(limits.admission);
  const expectSomebody = <Q extends GenerationQuery>(call: StageRequest<Q>): void =>
    registry.assertAvailable(call.route, capacity, (target) => objects(call, target) === undefined);
  const stages = <Q extends GenerationQuery>() => [
    limitImageCount<Q>(),
    preflight<Q>({ rejectionReason: objects, checkEdit: tools.checkEdit }),
    moderate<Q>({ ask: moderation, limits, requireAvailableTarget: expectSomebody }),
    convertStream<Q>(),
    fillMissing<Q>(),
    routeRequest<Q, ImageResponse>({
      registry,
      canServe: (call, target) => isAble(objects, call, target),
      priceOf: imagePrice,
      capacity,
      queue,
      watchEnd: watchStreamEnd,
      checkHealth,
    }),
    generate<Q>(tools),
    checkImages<Q>({ onDisbelieved }),
    enforceTargetLimits<Q, ImageResponse>(limits),
  ];
  return {
    generations: through(stages<GenerationQuery>(), (call) =>
      reach.generations(call.query, targetOf(call), call.signal, call.temp),
    ),
    edits: through(stages<EditQuery>(), (call) =>
      reach.edits(call.query, targetOf(call), call.signal, call.temp),
    ),
  };
};

/** Whoever is passed over is in the account of the call. */
function isAble<Q extends GenerationQuery>(
  objects: ReturnType<typeof rejectionReason>,
  call: StageRequest<Q>,
  target: Target,
): boolean {
  const why = objects(call, target);
  if (why instanceof GatewayError) addStep(call.record, target, `cannot, ${why.kind}`);
  return why === undefined;
}

function targetOf<Q>({ target }: StageRequest<Q>) {
  if (!target) throw new GatewayError("internal", "No stage chose a target.");
  return target;
}
