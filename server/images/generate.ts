/**
 * Generates images on one target: plans the request, prepares its source images, sends the upstream requests and
 * post-processes the images.
 */

import type { Step } from "../../contract/request-steps.ts";
import type { ParameterPolicy } from "../config/snapshot.ts";
import type { RequestUsage } from "../request/http-types.ts";
import type { Send, Stage, StageRequest } from "../request/stage.ts";
import { targetName } from "../request/timeline.ts";
import { mayFailOver } from "../routing/retry-policy.ts";
import type { RequestTemp } from "../temp-storage/request-temp.ts";
import type {
  BufferedImageResponse,
  Deviations,
  EditQuery,
  GenerationQuery,
  ImageEvent,
  ImageOperation,
  ImageResponse,
  LoadedImage,
  Target,
} from "../upstream/contract.ts";
import type { EditCapabilities, ImageCapabilities } from "../upstream/image-capabilities.ts";
import type { ImageTaskContext } from "../workers/image/image-worker.ts";
import type { OutputConversion } from "./convert-output.ts";
import { fanOut } from "./fan-out.ts";
import { chargeImages, reportCost, type UpstreamImageRequest } from "./image-cost.ts";
import type { RequestedMetadata } from "./image-head.ts";
import { AttemptedImages } from "./missing-images.ts";
import type { Plan } from "./plan/image-plan.ts";
import { planImage } from "./plan/plan.ts";
import { limitImages, postProcess } from "./post-process.ts";
import type { EditRules } from "./preflight.ts";
import { prepareSources, type SourceTools } from "./prepare-sources.ts";

/** The tools that image requests use. */
export interface ImageTools extends SourceTools {
  readonly capabilitiesOf: (target: Target, operation: ImageOperation) => ImageCapabilities;
  /** Downloads an image URL of an upstream response. */
  download(
    url: string,
    target: Target,
    signal: AbortSignal,
    temp: RequestTemp,
  ): Promise<LoadedImage>;
  /** Whether a URL points into the operator's private network, or contains a password. */
  isPrivate(url: string): boolean;
  convert(image: LoadedImage, to: OutputConversion, task: ImageTaskContext): Promise<LoadedImage>;
  /** How uploads are inspected, to the last pixel. */
  readonly uploads: Pick<EditRules, "imageWorker" | "maxBytes">;
}

type ImageQuery = GenerationQuery | EditQuery;

/** Reported like a parameter, so that nothing is lost in silence. */
const lostProvenance = "provenance";

const isEdit = <Q extends ImageQuery>(query: Q): query is Q & EditQuery => "images" in query;

const policyOf = <Q>({ model, context }: StageRequest<Q>): ParameterPolicy =>
  context.caller?.parameters ?? model.parameters ?? "adapt";

const operationOf = <Q>({ operation }: StageRequest<Q>): ImageOperation =>
  operation === "edits" ? "edits" : "generations";

/** The reason why this target cannot serve the request. Undefined if it can. */
export const rejectionReason =
  (capabilities: ImageTools["capabilitiesOf"]) =>
  <Q extends ImageQuery>(request: StageRequest<Q>, target: Target): unknown =>
    planRejection(request.query, capabilities(target, operationOf(request)), policyOf(request));

/** The error of the plan. Undefined if a target with these capabilities can serve the query. */
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

export const generate = <Q extends ImageQuery>(tools: ImageTools): Stage<Q, ImageResponse> => {
  /** Targets that generated one image although several were requested. */
  const singleImageTargets = new WeakSet<Target>();
  return (next) => async (request) => {
    const { report, target } = request;
    if (!target) throw new Error("No target was selected.");
    const attempt = planAttempt(request, target, tools, singleImageTargets);
    const { query: planned } = attempt.plan;
    const query = isEdit(planned) ? await prepareEdit(planned, attempt, tools) : planned;
    const signal = request.signal();
    const costContext = { operation: operationOf(request), target, query, report };
    const images = new AttemptedImages({
      report,
      target,
      signal,
      imageCount: attempt.count,
      onPossiblyBilled: (count) => chargeImages(costContext, "maybe", count),
    });
    const response = await sendQuery(query, attempt, images, next).catch((error: unknown) => {
      images.failAll(error);
      throw error;
    });
    // The outcome of a stream is not known yet.
    report.addStep(response.kind === "stream" ? "streaming" : "generated", {
      target: targetName(target),
    });
    return deliver(response, costContext, attempt, images, tools);
  };
};

/** An image request on one target. */
interface Attempt<Q extends ImageQuery> {
  readonly request: StageRequest<Q>;
  readonly target: Target;
  readonly task: ImageTaskContext;
  readonly plan: Plan<Q>;
  readonly edits: EditCapabilities | undefined;
  /** How many images the client requested. */
  readonly count: number;
  readonly adapted: Set<string>;
  /** A parameter that the gateway emulated or changed. `step`: its routing step. */
  readonly onAdapted: (name: string, step?: Step) => void;
  /** Undefined if images that the target does not generate at once are missing. */
  readonly onSingleImage: (() => void) | undefined;
}

function planAttempt<Q extends ImageQuery>(
  request: StageRequest<Q>,
  target: Target,
  tools: ImageTools,
  singleImageTargets: WeakSet<Target>,
): Attempt<Q> {
  const { report, context, temp } = request;
  const policy = policyOf(request);
  const declared = tools.capabilitiesOf(target, operationOf(request));
  const isSingleImage = policy !== "strict" && singleImageTargets.has(target);
  const capabilities = isSingleImage ? { ...declared, maxImages: 1 } : declared;
  const plan = planImage(request.query, capabilities, policy);
  const adapted = new Set(plan.adapted);
  const onAdapted: Attempt<Q>["onAdapted"] = (name, step = ["adapted", { parameter: name }]) => {
    if (!adapted.has(name)) report.addStep(...step);
    adapted.add(name);
  };
  const onSingleImage = (): void => {
    singleImageTargets.add(target);
    onAdapted("n", ["one_image", { target: targetName(target) }]);
  };
  const mayRequestMore = declared.mayIgnoreN && (policy === "adapt" || policy === "drop");
  return {
    request,
    target,
    task: { signal: request.signal(), temp, key: context.caller?.id ?? "" },
    plan,
    adapted,
    edits: declared.edits,
    count: request.query.options.n ?? 1,
    onAdapted,
    onSingleImage: mayRequestMore ? onSingleImage : undefined,
  };
}

/** The edit with its source images in the form that the target reads. */
async function prepareEdit<Q extends ImageQuery>(
  query: Q & EditQuery,
  { request, edits, task, onAdapted }: Attempt<Q>,
  tools: ImageTools,
): Promise<Q> {
  if (!edits) return query;
  try {
    return await prepareSources(query, { edits, tools, task, onAdapted });
  } catch (error) {
    request.report.attemptNotSent();
    throw error;
  }
}

function sendQuery<Q extends ImageQuery>(
  query: Q,
  { request, plan, onSingleImage }: Attempt<Q>,
  images: AttemptedImages,
  next: Send<Q, ImageResponse>,
): Promise<ImageResponse> {
  const parts = { hasStarted: false };
  return fanOut(
    { ...plan, query },
    {
      send: (part) => next({ ...request, query: part, parts }),
      isStreaming: request.query.stream,
      onMissing: (group) => images.addFailure(group),
      isFinal: (error) => !mayFailOver(error, request),
      onSingleImage,
    },
  );
}

/** Post-processes the images, and reports their usage, their cost and the missing ones. */
async function deliver<Q extends ImageQuery>(
  response: ImageResponse,
  costContext: UpstreamImageRequest,
  { request, target, task, plan, count, adapted, onAdapted }: Attempt<Q>,
  images: AttemptedImages,
  tools: ImageTools,
): Promise<ImageResponse> {
  const { report, temp } = request;
  const { signal } = task;
  const dropped = new Set(plan.dropped);
  if (response.kind === "buffered") report.addUsage(usageOf(response));
  const { options, extraFields } = request.query;
  // Vendor-specific fields may have requested several images.
  const maxImages =
    options.n === undefined && Object.keys(extraFields).length > 0
      ? Number.POSITIVE_INFINITY
      : count;
  const unusable: ImageEvent[] = [];
  let postProcessError: unknown;
  const processing = postProcess(
    response,
    {
      postProcessing: plan.postProcessing,
      stream: request.query.stream,
      maxImages,
      requested: requestedMetadata(plan.query),
    },
    {
      download: (url) => tools.download(url, target, signal, temp),
      convert: (image, to) =>
        tools.convert(image, to, { ...task, onManifestLost: () => dropped.add(lostProvenance) }),
      isPrivate: tools.isPrivate,
      onFailure: (error) => {
        postProcessError = error;
      },
      onUnconverted: ({ kind }) => report.addStep("not_converted", { error: kind }),
      onAdapted,
      onDropped: (name) => dropped.add(name),
      onUnusable: (event) => unusable.push(event),
    },
  );
  const processed = await processing.catch((error: unknown) => {
    // The images are billed, although none of them can be delivered.
    if (response.kind === "buffered") reportCost(response, costContext);
    throw error;
  });
  const deliverable = limitImages(maxImages, reportCost(processed, costContext, unusable));
  const deviations = (): Deviations => ({
    adapted: [...adapted],
    dropped: [...dropped],
    missing: images.missing,
  });
  if (deliverable.kind === "stream")
    return { ...deliverable, events: images.watch(deliverable.events), deviations };
  images.settle(deliverable.results.length, postProcessError);
  return { ...deliverable, deviations: deviations() };
}

const usageOf = ({ results, usage }: BufferedImageResponse): RequestUsage => ({
  ...(usage && { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }),
  images: results.length,
});

function requestedMetadata({ aspectRatio, options }: ImageQuery): RequestedMetadata {
  const { size, quality, background, output_format } = options;
  return {
    ...(size && { size }),
    ...(aspectRatio && { aspect: aspectRatio }),
    ...(quality && { quality }),
    ...(background && { background }),
    ...(output_format && { output_format }),
  };
}
