/**
 * The stages of embeddings at a vendor. `plan` ends where a request would be sent, and returns the upstream requests for
 * the vendor's input file. Hours later, `send` reads the vendor's results as the responses to these requests.
 */
import {
  adaptParameters,
  checkParameters,
  type EmbeddingCapabilitiesOf,
} from "../../embeddings/adapt-parameters.ts";
import type { CacheStageOptions } from "../../embeddings/cache/cache-stage.ts";
import { fillCache, isCached } from "../../embeddings/cache/cached-inputs.ts";
import { chargeEmbeddings, reportServed } from "../../embeddings/embedding-usage.ts";
import type { ConvertImages, LoadImages } from "../../embeddings/multimodal/embed-mixed.ts";
import { inputsIn, itemsOf, joinResponses, split } from "../../embeddings/split.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { type VerifyOptions, verifyEmbeddingsStage } from "../../pipeline/verify-response.ts";
import type { PermittedModel } from "../../request/caller.ts";
import { chargeOnlyAttempt } from "../../request/charge-attempt.ts";
import type { VendorLine } from "../../request/job-line.ts";
import { RequestRecord } from "../../request/request-record.ts";
import { composeStages, type Send, type Stage, type StageRequest } from "../../request/stage.ts";
import type { Adapter } from "../../upstream/adapter.ts";
import type { EmbeddingsQuery, EmbeddingsResponse, Target } from "../../upstream/contract.ts";
import { invalidResponse } from "../../upstream/invalid-response.ts";
import { atVendor, endWithLine, readResult, targetOf, vendorLineOf } from "./line-stages.ts";
import type { PlannedRequest } from "./vendor-input.ts";

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
  const check = checkParameters(capabilities, loadImages);
  const adapt = adaptParameters(fixed, convertImages);
  const adapterOf = ({ upstream: { kind } }: Target) => {
    const adapter = adapters.get(kind);
    if (!adapter?.embeddings)
      throw new GatewayError("internal", `The kind ${kind} has no embeddings.`);
    return { adapter, embeddings: adapter.embeddings };
  };
  const skipCached: EmbeddingsStage = (next) => async (request) => {
    const { query, model } = request;
    return isCached(cache, query, model) ? zeroVectors(query) : next(request);
  };
  /** The vectors of another model must not have the cache keys of this one. */
  const fillCacheIfSame: EmbeddingsStage = (next) => {
    const fill = fillCache(cache)(next);
    return (request) => {
      if (isTargetOf(request.model, vendorLineOf(request).target)) return fill(request);
      request.report.addSentInputs(itemsOf(request.query.input));
      return next(request);
    };
  };
  const readSent: ReadSent = (stageRequest, sent) => {
    const target = targetOf(stageRequest);
    const { adapter, embeddings } = adapterOf(target);
    const query = sent.query as EmbeddingsQuery;
    return readResult(stageRequest, adapter, sent, (response) =>
      embeddings.fromUpstream(response, query, target),
    );
  };
  const afterwards = [reportServed, charged, verifyEmbeddingsStage(options), adapt];
  return {
    send: endWithLine(
      composeStages([check, fillCacheIfSame, atVendor], sendParts(afterwards, readSent)),
    ),
    /** Empty: all inputs are cached, or one of them is an image. Throws GatewayError if the target refuses the line. */
    plan: async ({ query, model, target }: PlannedQuery): Promise<readonly PlannedRequest[]> => {
      const requests: PlannedRequest[] = [];
      if (query.input.kind === "mixed") return requests;
      const stages = [check, skipCached, atVendor, split({ capabilities }), adapt];
      const plan = composeStages(stages, async (planned) => {
        const request = adapterOf(target).embeddings.toUpstream(planned.query, target);
        requests.push({ request, query: planned.query });
        return zeroVectors(planned.query);
      });
      await plan(plannedRequest(query, model, target));
      return requests;
    },
  };
}

type ReadSent = (
  request: StageRequest<EmbeddingsQuery>,
  sent: VendorLine["requests"][number],
) => Promise<EmbeddingsResponse>;

/** Reads the results of the requests that were sent for the line, and joins them. */
const sendParts =
  (stages: readonly EmbeddingsStage[], readSent: ReadSent): SendEmbeddings =>
  async (request) => {
    const { query } = request;
    const count = itemsOf(query.input);
    const received: Parameters<typeof joinResponses>[0][number][] = [];
    let from = 0;
    for (const sent of vendorLineOf(request).requests) {
      const range = { from, to: from + itemsOf((sent.query as EmbeddingsQuery).input) };
      const input = inputsIn(query.input, range);
      const read = composeStages(stages, (part) => readSent(part, sent));
      received.push({
        range,
        input,
        response: await read({ ...request, query: { ...query, input }, firstInput: from }),
      });
      from = range.to;
    }
    if (from !== count) throw invalidResponse("the vendor's batch was asked for other inputs");
    const [only] = received;
    return received.length === 1 && only ? only.response : joinResponses(received, count);
  };

const isTargetOf = ({ targets }: PermittedModel, { upstream, model }: Target): boolean =>
  targets.some((target) => target.upstream.id === upstream.id && target.model === model);

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
