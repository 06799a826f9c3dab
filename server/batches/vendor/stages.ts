/**
 * The stages of embeddings and of images at a vendor. `plan` ends where a request would be sent, and returns the upstream
 * requests for the vendor's input file. Hours later, `send` reads the vendor's results as the responses to these requests.
 */

import type { ErrorDefinition } from "../../../contract/errors.ts";
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
import { fanOut } from "../../images/fan-out.ts";
import { generate, type ImageTools } from "../../images/generate.ts";
import { planImage } from "../../images/plan/plan.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import {
  type VerifyOptions,
  verifyEmbeddingsStage,
  verifyImagesStage,
} from "../../pipeline/verify-response.ts";
import type { PermittedModel } from "../../request/caller.ts";
import { chargeOnlyAttempt } from "../../request/charge-attempt.ts";
import type { VendorLine } from "../../request/job-line.ts";
import { RequestRecord } from "../../request/request-record.ts";
import { composeStages, type Send, type Stage, type StageRequest } from "../../request/stage.ts";
import type { Adapter, UpstreamResponse } from "../../upstream/adapter.ts";
import { throwErrorInside } from "../../upstream/adapters/wire/error-in-response.ts";
import type {
  EmbeddingsQuery,
  EmbeddingsResponse,
  GenerationQuery,
  ImageResponse,
  Target,
} from "../../upstream/contract.ts";
import { invalidResponse } from "../../upstream/invalid-response.ts";
import type { SentRequest } from "./sent-requests.ts";
import type { PlannedRequest } from "./vendor-input.ts";

/**
 * A result that is an error, or that is wrong, stays so: its line is not tried again. Other errors, such as of the
 * gateway or of its configuration, say nothing about the result.
 */
const makeFailureFinal =
  <Q, A>(next: Send<Q, A>): Send<Q, A> =>
  (request) =>
    next(request).catch((error: unknown) => {
      if (isCausedBy(error, "upstream")) request.context.line?.vendor?.end();
      throw error;
    });

const isCausedBy = (error: unknown, cause: ErrorDefinition["causedBy"]): boolean =>
  error instanceof GatewayError && error.definition.causedBy === cause;

/** Selects the target: the vendor's, and the model as it was when the line was sent. */
const selectVendorTarget: <Q, A>(next: Send<Q, A>) => Send<Q, A> = (next) => (request) => {
  const { report, model, context } = request;
  const { vendor } = context.line ?? {};
  const target = request.target ?? vendor?.target;
  if (!target) throw new GatewayError("internal", "The line has no target.");
  report.startAttempt({ target, startedAt: undefined });
  report.reachedUpstream();
  report.addStep("vendor_batch");
  return next({ ...request, model: { ...model, ...vendor?.model, targets: [target] }, target });
};

/** The part of the target's adapter that writes the requests and reads the responses. */
function partOf<P>(
  adapters: ReadonlyMap<string, Adapter>,
  { upstream: { kind } }: Target,
  select: (adapter: Adapter) => P | undefined,
) {
  const adapter = adapters.get(kind);
  const part = adapter && select(adapter);
  if (part) return { adapter, part };
  throw new GatewayError("internal", `The kind ${kind} does not run these lines.`);
}

function targetOf({ target }: StageRequest<unknown>): Target {
  if (target) return target;
  throw new GatewayError("internal", "No target was selected.");
}

function vendorLineOf({ context }: StageRequest<unknown>): VendorLine {
  if (context.line?.vendor) return context.line.vendor;
  throw new GatewayError("internal", "The line has no result of a vendor.");
}

/** In place of sending a request: reads the vendor's result. */
async function readResult<A>(
  stageRequest: StageRequest<{ readonly model: string }>,
  adapter: Adapter,
  sent: Pick<SentRequest, "ids">,
  read: (response: UpstreamResponse) => Promise<A>,
): Promise<A> {
  const vendor = vendorLineOf(stageRequest);
  const response = await vendor.responseTo(sent);
  const about = { target: targetOf(stageRequest), model: stageRequest.query.model };
  try {
    if (response.status < 200 || response.status > 299)
      throw await adapter.readError(response, about);
    return await read(response).catch((error: unknown) =>
      throwErrorInside(error, response, adapter, about),
    );
  } catch (error) {
    // The vendor refused the request of the client.
    if (isCausedBy(error, "client")) vendor.end();
    throw error;
  }
}

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
  const adapterOf = (target: Target) => partOf(adapters, target, ({ embeddings }) => embeddings);
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
    const { adapter, part: embeddings } = adapterOf(target);
    const query = sent.query as EmbeddingsQuery;
    return readResult(stageRequest, adapter, sent, (response) =>
      embeddings.fromUpstream(response, query, target),
    );
  };
  const afterwards = [reportServed, charged, verifyEmbeddingsStage(options), adapt];
  return {
    send: makeFailureFinal(
      composeStages([check, fillCacheIfSame, selectVendorTarget], sendParts(afterwards, readSent)),
    ),
    /** Empty: all inputs are cached, or one of them is an image. Throws GatewayError if the target refuses the line. */
    plan: async ({ query, model, target }: PlannedQuery): Promise<readonly PlannedRequest[]> => {
      const requests: PlannedRequest[] = [];
      if (query.input.kind === "mixed") return requests;
      const stages = [check, skipCached, selectVendorTarget, split({ capabilities }), adapt];
      const plan = composeStages(stages, async (planned) => {
        const request = adapterOf(target).part.toUpstream(planned.query, target);
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

interface VendorImageStagesOptions extends VerifyOptions {
  readonly adapters: ReadonlyMap<string, Adapter>;
  readonly tools: ImageTools;
}

export function vendorImageStages(options: VendorImageStagesOptions) {
  const { adapters, tools, onImplausibleUsage } = options;
  const adapterOf = (target: Target) => partOf(adapters, target, ({ generations }) => generations);

  const readImages = async (
    stageRequest: StageRequest<GenerationQuery>,
  ): Promise<ImageResponse> => {
    const { temp } = stageRequest;
    const target = targetOf(stageRequest);
    const { adapter, part: generations } = adapterOf(target);
    const sent = sentFor(stageRequest);
    const query = sent.query as GenerationQuery;
    const images = await readResult(stageRequest, adapter, sent, (response) =>
      generations.fromUpstream(response, { query, target, temp }),
    );
    if (images.kind !== "pending") return images;
    throw new GatewayError("internal", "The result of a vendor's batch is a job.");
  };

  return {
    send: makeFailureFinal(
      composeStages<GenerationQuery, ImageResponse>(
        [
          selectVendorTarget,
          withSentPolicy,
          generate<GenerationQuery>(tools),
          verifyImagesStage<GenerationQuery>({ onImplausibleUsage }),
        ],
        readImages,
      ),
    ),
    /** Throws GatewayError if the target refuses the line. */
    plan: async (
      query: GenerationQuery,
      { maxImages }: PermittedModel,
      target: Target,
      policy: NonNullable<PermittedModel["parameters"]>,
    ): Promise<readonly PlannedRequest[]> => {
      if ((query.options.n ?? 1) > maxImages) return [];
      const requests: PlannedRequest[] = [];
      const plan = planImage(query, tools.capabilitiesOf(target, "generations"), policy);
      await fanOut(plan, {
        send: async (one) => {
          const request = adapterOf(target).part.toUpstream(one, target);
          requests.push({ request, query: one });
          return { kind: "buffered", created: 0, metadata: {}, results: [] };
        },
        isStreaming: false,
        onMissing: () => undefined,
      });
      return requests;
    },
  };
}

/** The image request was planned with the policy of that time. */
const withSentPolicy: Stage<GenerationQuery, ImageResponse> = (next) => (request) => {
  const { context } = request;
  const { parameters } = vendorLineOf(request).model;
  if (!context.caller || !parameters) return next(request);
  return next({ ...request, context: { ...context, caller: { ...context.caller, parameters } } });
};

/** The request that was sent for this part of the image request. */
function sentFor(request: StageRequest<GenerationQuery>): VendorLine["requests"][number] {
  const partOf = ({ part = 0, options: { n = 1 } }: GenerationQuery): string => `${part} ${n}`;
  const part = partOf(request.query);
  const sent = vendorLineOf(request).requests.find(
    ({ query }) => partOf(query as GenerationQuery) === part,
  );
  if (!sent) throw invalidResponse("the vendor's batch was asked for other images");
  return sent;
}
