/** The stages of images at a vendor: `plan` and `send` as in `embedding-stages.ts`. */
import { fanOut } from "../../images/fan-out.ts";
import { generate, type ImageTools } from "../../images/generate.ts";
import { planImage } from "../../images/plan/plan.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { type VerifyOptions, verifyImagesStage } from "../../pipeline/verify-response.ts";
import type { PermittedModel } from "../../request/caller.ts";
import type { VendorLine } from "../../request/job-line.ts";
import { composeStages, type Stage, type StageRequest } from "../../request/stage.ts";
import type { Adapter } from "../../upstream/adapter.ts";
import type { GenerationQuery, ImageResponse, Target } from "../../upstream/contract.ts";
import { invalidResponse } from "../../upstream/invalid-response.ts";
import { atVendor, endWithLine, readResult, targetOf, vendorLineOf } from "./line-stages.ts";
import type { PlannedRequest } from "./vendor-input.ts";

interface VendorImageStagesOptions extends VerifyOptions {
  readonly adapters: ReadonlyMap<string, Adapter>;
  readonly tools: ImageTools;
}

export function vendorImageStages(options: VendorImageStagesOptions) {
  const { adapters, tools, onImplausibleUsage } = options;
  const adapterOf = ({ upstream: { kind } }: Target) => {
    const adapter = adapters.get(kind);
    if (!adapter?.generations)
      throw new GatewayError("internal", `The kind ${kind} has no images.`);
    return { adapter, generations: adapter.generations };
  };

  const readImages = async (
    stageRequest: StageRequest<GenerationQuery>,
  ): Promise<ImageResponse> => {
    const { temp } = stageRequest;
    const target = targetOf(stageRequest);
    const { adapter, generations } = adapterOf(target);
    const sent = sentFor(stageRequest);
    const query = sent.query as GenerationQuery;
    const images = await readResult(stageRequest, adapter, sent, (response) =>
      generations.fromUpstream(response, { query, target, temp }),
    );
    if (images.kind !== "pending") return images;
    throw new GatewayError("internal", "The result of a vendor's batch is a job.");
  };

  return {
    send: endWithLine(
      composeStages<GenerationQuery, ImageResponse>(
        [
          atVendor,
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
          const request = adapterOf(target).generations.toUpstream(one, target);
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
