/**
 * Generates images on one target: plans the request, prepares its source images, sends the upstream requests and
 * post-processes the images.
 */

import type { ParameterPolicy } from "../config/snapshot.ts";
import type { RequestUsage } from "../request/http-types.ts";
import type { Stage, StageRequest } from "../request/stage.ts";
import { targetName } from "../request/timeline.ts";
import { mayFailOver } from "../routing/retry-policy.ts";
import type { RequestTemp } from "../temp-storage/request-temp.ts";
import type {
  BufferedImageResponse,
  EditQuery,
  FilePart,
  GenerationQuery,
  ImageEvent,
  ImageResponse,
  Target,
} from "../upstream/contract.ts";
import type { ImageCapabilities } from "../upstream/image-capabilities.ts";
import type { ImageConversion, ImageInspection, MaskForm } from "../workers/image/image-worker.ts";
import { fanOut } from "./fan-out.ts";
import { recordCost } from "./image-cost.ts";
import type { LoadedImage } from "./image-head.ts";
import { MissingRecorder } from "./missing-images.ts";
import { planImage } from "./plan/plan.ts";
import { limitImages, type OutputConversion, postProcess } from "./post-process.ts";
import type { EditRules } from "./preflight.ts";
import { prepareSources } from "./prepare-sources.ts";

/** Context of one image job: its signal, its API key and where its result goes. */
interface ImageJob {
  readonly signal: AbortSignal;
  readonly temp: RequestTemp;
  /** The API key that the job's time is charged to. */
  readonly key: string;
}

/** The tools that image requests use. */
export interface ImageTools {
  readonly capabilitiesOf: (
    target: Target,
    operation: "generations" | "edits",
  ) => ImageCapabilities;
  /** Downloads an image URL of an upstream response. */
  download(
    url: string,
    target: Target,
    signal: AbortSignal,
    temp: RequestTemp,
  ): Promise<LoadedImage>;
  /** Downloads an image URL of the client, as an inspected file. */
  fetchSource(url: string, param: string, job: ImageJob): Promise<FilePart>;
  /** Inspects a checked image of the client: its dimensions, transparency and orientation. */
  inspect(file: FilePart, job: ImageJob): Promise<ImageInspection>;
  /** Whether a URL points into the operator's private network, or contains a password. */
  isPrivate(url: string): boolean;
  convert(image: LoadedImage, to: OutputConversion, job: ImageJob): Promise<LoadedImage>;
  convertFile(file: FilePart, to: ImageConversion, job: ImageJob): Promise<FilePart>;
  /** How uploads are inspected, to the last pixel. */
  readonly uploads: Pick<EditRules, "imageWorker" | "maxBytes">;
  convertMask(mask: FilePart, to: MaskForm, job: ImageJob): Promise<FilePart>;
}

type ImageQuery = GenerationQuery | EditQuery;

const isEdit = <Q extends ImageQuery>(query: Q): query is Q & EditQuery => "images" in query;

const policyOf = <Q>({ model, record }: StageRequest<Q>): ParameterPolicy =>
  record.caller?.parameters ?? model.parameters ?? "adapt";

/** The API key that a request counts for. Empty for a request without a caller. */
const keyOf = <Q>({ record }: Pick<StageRequest<Q>, "record">): string => record.caller?.id ?? "";

const operationOf = <Q>({ operation }: StageRequest<Q>): "generations" | "edits" =>
  operation === "edits" ? "edits" : "generations";

/** The reason why this target cannot serve the request. Undefined if it can. */
export const rejectionReason =
  (capabilities: ImageTools["capabilitiesOf"]) =>
  <Q extends ImageQuery>(request: StageRequest<Q>, target: Target): unknown =>
    planRejection(request.query, capabilities(target, operationOf(request)), policyOf(request));

/** The error of the plan. Undefined: a target with these capabilities can serve the query. */
export function planRejection(
  query: ImageQuery,
  capabilities: ImageCapabilities,
  policy: ParameterPolicy,
): unknown {
  try {
    planImage(query, capabilities, policy);
    return undefined;
  } catch (error) {
    return error;
  }
}

const usageOf = ({ results, usage }: BufferedImageResponse): RequestUsage => ({
  ...(usage && { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }),
  images: results.length,
});

export const generate = <Q extends ImageQuery>(tools: ImageTools): Stage<Q, ImageResponse> => {
  /** Targets that generated one image although several were requested. */
  const singleImageTargets = new WeakSet<Target>();
  return (next) => async (request) => {
    const { record, signal, temp, target, tried } = request;
    if (!target) throw new Error("No target was selected.");
    tried?.targets.add(target);
    const job: ImageJob = { signal, temp, key: keyOf(request) };
    const policy = policyOf(request);
    const declared = tools.capabilitiesOf(target, operationOf(request));
    const capabilities = singleImageTargets.has(target) ? { ...declared, maxImages: 1 } : declared;
    const plan = planImage(request.query, policy === "strict" ? declared : capabilities, policy);
    const adapted = new Set(plan.adapted);
    record.parameters.adapted = [...adapted];
    record.parameters.dropped = plan.dropped;
    const onAdapted = (name: string, step = `adapted: ${name}`): void => {
      if (!adapted.has(name)) record.addStep(step);
      adapted.add(name);
      record.parameters.adapted = [...adapted];
    };
    let { query } = plan;
    if (isEdit(query) && capabilities.edits) {
      query = await prepareSources(query, capabilities.edits, {
        fetchSource: (url, param) => tools.fetchSource(url, param, job),
        inspect: (file) => tools.inspect(file, job),
        convertMask: (mask, to) => tools.convertMask(mask, to, job),
        convert: (file, to) => tools.convertFile(file, to, job),
        onAdapted,
      }).catch((error: unknown) => {
        record.routing.retractAttempt();
        throw error;
      });
    }
    const {
      options: { n },
      extraFields,
    } = request.query;
    const count = n ?? 1;
    const recorder = new MissingRecorder({ record, target, signal, imageCount: count });
    const onSingleImage = (): void => {
      singleImageTargets.add(target);
      onAdapted("n", `${targetName(target)}: one image per request`);
    };
    const mayRequestMore = declared.mayIgnoreN && (policy === "adapt" || policy === "drop");
    const response = await fanOut(
      { ...plan, query },
      {
        send: (part) => {
          if (tried) tried.imageCount += part.options.n ?? 1;
          return next({ ...request, query: part });
        },
        isStreaming: request.query.stream,
        onMissing: (group) => recorder.addFailure(group),
        isFinal: (error) => !mayFailOver(error, request),
        onSingleImage: mayRequestMore ? onSingleImage : undefined,
      },
    ).catch((error: unknown) => {
      recorder.failAll(error);
      throw error;
    });
    // The outcome of a stream is not known yet.
    record.addStep(
      `${targetName(target)}: ${response.kind === "stream" ? "streaming" : "generated"}`,
    );
    const { aspectRatio: aspect } = plan.query;
    const { size, quality, background } = plan.query.options;
    const costContext = { operation: operationOf(request), target, query, record };
    // The images are billed, whatever happens to them from here on.
    if (response.kind === "buffered") {
      record.usage = usageOf(response);
      recordCost(response, costContext);
    }
    // Vendor-specific fields may have requested several images.
    const maxImages =
      n === undefined && Object.keys(extraFields).length > 0 ? Number.POSITIVE_INFINITY : count;
    const unusable: ImageEvent[] = [];
    let postProcessError: unknown;
    const processed = await postProcess(
      response,
      {
        postProcessing: plan.postProcessing,
        stream: request.query.stream,
        count,
        maxImages,
        requested: {
          ...(size && { size }),
          ...(aspect && { aspect }),
          ...(quality && { quality }),
          ...(background && { background }),
        },
      },
      {
        download: (url) => tools.download(url, target, signal, temp),
        convert: (image, to) => tools.convert(image, to, job),
        isPrivate: tools.isPrivate,
        onMissing: (_, error) => {
          postProcessError = error;
        },
        onAdapted,
        onDropped: (name) => {
          record.parameters.dropped = [...new Set([...(record.parameters.dropped ?? []), name])];
        },
        onUnusable: (event) => unusable.push(event),
      },
    );
    const deliverable = limitImages(maxImages, recordCost(processed, costContext, unusable));
    if (deliverable.kind === "stream")
      return { ...deliverable, events: recorder.watch(deliverable.events) };
    recorder.settle(deliverable.results.length, postProcessError);
    return deliverable;
  };
};
