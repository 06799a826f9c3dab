/**
 * The stages of lines that the batch of a vendor runs. `plan` returns the upstream requests of a line, for the vendor's
 * input file. `send` passes the line through the same stages again, with the vendor's results as the responses.
 */
import {
  adaptParameters,
  checkParameters,
  type EmbeddingCapabilitiesOf,
} from "../embeddings/adapt-parameters.ts";
import type { CacheStageOptions } from "../embeddings/cache/cache-stage.ts";
import { fillCache, isCached } from "../embeddings/cache/cached-inputs.ts";
import { reportServed } from "../embeddings/embedding-usage.ts";
import type { ConvertImages, LoadImages } from "../embeddings/multimodal/embed-mixed.ts";
import { itemsOf, split } from "../embeddings/split.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { PermittedModel } from "../request/caller.ts";
import { RequestRecord } from "../request/request-record.ts";
import { composeStages, type Send, type Stage, type StageRequest } from "../request/stage.ts";
import type { Adapter, UpstreamRequest } from "../upstream/adapter.ts";
import { throwErrorInside } from "../upstream/adapters/wire/error-in-response.ts";
import type { EmbeddingsQuery, EmbeddingsResponse, Target } from "../upstream/contract.ts";
import { type VerifyOptions, verifyEmbeddingsStage } from "./verify-response.ts";

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

export type VendorStages = ReturnType<typeof vendorStages>;

export function vendorStages(options: VendorStagesOptions) {
  const { adapters, capabilities, loadImages, convertImages, cache } = options;
  const check = checkParameters(capabilities, loadImages);
  // The parameters of both passes must be the same, so nothing is learned from responses.
  const fixed = { capabilities, markDimensionsIgnored: () => undefined };
  const adapt = adaptParameters(fixed, convertImages);
  const endpointOf = ({ upstream }: Target) => {
    const adapter = adapters.get(upstream.kind);
    if (adapter?.embeddings) return { adapter, embeddings: adapter.embeddings };
    throw new GatewayError("internal", `The kind ${upstream.kind} has no embeddings.`);
  };

  /** Reads the vendor's result. */
  const readResult = async (request: StageRequest<EmbeddingsQuery>) => {
    const { query, context } = request;
    const { line, target } = { line: context.line?.vendor, target: targetOf(request) };
    if (!line) throw new GatewayError("internal", "The line has no result of a vendor.");
    const { adapter, embeddings } = endpointOf(target);
    const response = await line.responseTo(embeddings.toUpstream(query, target));
    const about = { target, model: query.model };
    if (response.status < 200 || response.status > 299)
      throw await adapter.readError(response, about);
    return embeddings
      .fromUpstream(response, query, target)
      .catch((error: unknown) => throwErrorInside(error, response, adapter, about));
  };

  return {
    send: composeStages(
      [
        endWithLine<EmbeddingsQuery, EmbeddingsResponse>,
        check,
        fillCache(cache),
        atTarget(({ context }) => context.line?.vendor?.target),
        split({ capabilities }),
        reportServed,
        verifyEmbeddingsStage(options),
        adapt,
      ],
      readResult,
    ),
    /** Empty: all inputs are cached, or one of them is an image. Throws GatewayError if the target refuses the line. */
    plan: async ({ query, model, target }: PlannedQuery): Promise<readonly UpstreamRequest[]> => {
      const requests: UpstreamRequest[] = [];
      if (query.input.kind === "mixed") return requests;
      const skipCached: EmbeddingsStage = (next) => (request) =>
        isCached(cache, request.query, request.model)
          ? Promise.resolve(zeroVectors(request.query))
          : next(request);
      const plan = composeStages(
        [check, skipCached, atTarget(() => target), split({ capabilities }), adapt],
        async (request) => {
          requests.push(endpointOf(target).embeddings.toUpstream(request.query, target));
          return zeroVectors(request.query);
        },
      );
      await plan(plannedRequest(query, model));
      return requests;
    },
  };
}

/** A result that is an error, or that is wrong, stays so: its line is not tried again. */
export const endWithLine =
  <Q, A>(next: Send<Q, A>): Send<Q, A> =>
  (request) =>
    next(request).catch((error: unknown) => {
      const isOfGateway = error instanceof GatewayError && error.definition.causedBy === "gateway";
      if (!isOfGateway) request.context.line?.vendor?.end();
      throw error;
    });

/** Selects the target: the vendor's. */
export const atTarget =
  <Q, A>(find: (request: StageRequest<Q>) => Target | undefined): Stage<Q, A> =>
  (next) =>
  (request) => {
    const target = find(request);
    const { report, model } = request;
    if (!target) throw new GatewayError("internal", "The line has no target.");
    report.addRoutedRequest();
    report.startAttempt({ target, startedAt: undefined });
    report.reachedUpstream();
    report.addStep("run in a batch of the vendor");
    return next({ ...request, model: { ...model, targets: [target] }, target });
  };

export function targetOf({ target }: StageRequest<unknown>): Target {
  if (target) return target;
  throw new GatewayError("internal", "No target was selected.");
}

/** The stages of `plan` read these members only. */
function plannedRequest(
  query: EmbeddingsQuery,
  model: PermittedModel,
): StageRequest<EmbeddingsQuery> {
  const record = new RequestRecord("", "embeddings", 0);
  const signal = new AbortController().signal;
  const request: Partial<StageRequest<EmbeddingsQuery>> = {
    operation: "embeddings",
    query,
    model,
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
