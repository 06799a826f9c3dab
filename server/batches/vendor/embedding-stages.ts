/**
 * The stages of embeddings at a vendor: one list, which a line passes twice. `plan` ends where a request would be sent,
 * and returns the upstream requests for the vendor's input file. Hours later, `send` gets the vendor's results as the
 * responses to the same requests.
 */
import {
  adaptParameters,
  checkParameters,
  type EmbeddingCapabilitiesOf,
} from "../../embeddings/adapt-parameters.ts";
import type { CacheStageOptions } from "../../embeddings/cache/cache-stage.ts";
import { fillCache, isCached } from "../../embeddings/cache/cached-inputs.ts";
import { chargeEmbeddings } from "../../embeddings/charge-attempt.ts";
import { reportServed } from "../../embeddings/embedding-usage.ts";
import type { ConvertImages, LoadImages } from "../../embeddings/multimodal/embed-mixed.ts";
import { itemsOf, split } from "../../embeddings/split.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { type VerifyOptions, verifyEmbeddingsStage } from "../../pipeline/verify-response.ts";
import type { PermittedModel } from "../../request/caller.ts";
import { chargeOnlyAttempt } from "../../request/charge-attempt.ts";
import { RequestRecord } from "../../request/request-record.ts";
import { composeStages, type Send, type Stage, type StageRequest } from "../../request/stage.ts";
import type { Adapter } from "../../upstream/adapter.ts";
import type { EmbeddingsQuery, EmbeddingsResponse, Target } from "../../upstream/contract.ts";
import { atVendor, endWithLine, readResult, targetOf } from "./line-stages.ts";
import { type PlannedRequest, partOf } from "./vendor-input.ts";

export interface VendorStagesOptions extends VerifyOptions {
  readonly adapters: ReadonlyMap<string, Adapter>;
  readonly capabilities: EmbeddingCapabilitiesOf;
  readonly loadImages: LoadImages;
  readonly convertImages: ConvertImages;
  readonly cache: CacheStageOptions;
  readonly hasDrifted: (model: PermittedModel, target: Target) => boolean;
}

interface PlannedQuery {
  readonly query: EmbeddingsQuery;
  readonly model: PermittedModel;
  readonly target: Target;
}

type EmbeddingsStage = Stage<EmbeddingsQuery, EmbeddingsResponse>;
type SendEmbeddings = Send<EmbeddingsQuery, EmbeddingsResponse>;

export type VendorStages = ReturnType<typeof vendorStages>;

export function vendorStages(options: VendorStagesOptions) {
  const { adapters, capabilities, loadImages, convertImages, cache } = options;
  // Both times the parameters must be the same, so nothing is learned from responses.
  const fixed = { capabilities, markDimensionsIgnored: () => undefined };
  const list = (
    cached: EmbeddingsStage,
    afterwards: readonly EmbeddingsStage[],
    last: SendEmbeddings,
  ): SendEmbeddings =>
    composeStages(
      [
        checkParameters(capabilities, loadImages),
        cached,
        atVendor,
        split({ capabilities }),
        ...afterwards,
        adaptParameters(fixed, convertImages),
      ],
      last,
    );
  const requestOf = (target: Target, query: EmbeddingsQuery) => {
    const { kind } = target.upstream;
    const adapter = adapters.get(kind);
    if (!adapter?.embeddings)
      throw new GatewayError("internal", `The kind ${kind} has no embeddings.`);
    const { embeddings } = adapter;
    return { adapter, embeddings, request: embeddings.toUpstream(query, target) };
  };
  const skipCached: EmbeddingsStage = (next) => async (request) => {
    const { query, model } = request;
    return isCached(cache, query, model) ? zeroVectors(query) : next(request);
  };
  return {
    send: endWithLine(
      list(
        fillCache(cache),
        [reportServed, charged, verifyEmbeddingsStage(options)],
        (stageRequest) => {
          const { query } = stageRequest;
          const target = targetOf(stageRequest);
          const { adapter, embeddings, request } = requestOf(target, query);
          const part = partOf(stageRequest.firstInput ?? 0, query.input);
          return readResult(stageRequest, adapter, { request, part }, (response) =>
            embeddings.fromUpstream(response, query, target),
          );
        },
      ),
    ),
    /** Empty: all inputs are cached, or one of them is an image. Throws GatewayError if the target refuses the line. */
    plan: async ({ query, model, target }: PlannedQuery): Promise<readonly PlannedRequest[]> => {
      const requests: PlannedRequest[] = [];
      if (query.input.kind === "mixed") return requests;
      const plan = list(skipCached, [], async (planned) => {
        const { request } = requestOf(target, planned.query);
        requests.push({ request, part: partOf(planned.firstInput ?? 0, planned.query.input) });
        return zeroVectors(planned.query);
      });
      await plan(plannedRequest(query, model, target));
      return requests;
    },
  };
}

const charged: EmbeddingsStage = (next) => (request) =>
  chargeOnlyAttempt(targetOf(request), chargeEmbeddings, next)(request);

/** The stages of `plan` read these members only. */
function plannedRequest(
  query: EmbeddingsQuery,
  model: PermittedModel,
  target: Target,
): StageRequest<EmbeddingsQuery> {
  const record = new RequestRecord("", "embeddings", 0);
  const signal = new AbortController().signal;
  const request: Partial<StageRequest<EmbeddingsQuery>> = {
    operation: "embeddings",
    query,
    model,
    target,
    signal: () => signal,
    context: record,
    report: record,
  };
  return request as StageRequest<EmbeddingsQuery>;
}

/** In place of the vectors that the vendor will return. */
const zeroVectors = ({ input, dimensions = 1 }: EmbeddingsQuery): EmbeddingsResponse => {
  const vector = new Float32Array(dimensions);
  return { vectors: Array.from({ length: itemsOf(input) }, () => vector) };
};
