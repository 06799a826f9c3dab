/** The stages of images at a vendor: `plan` and `send` as in `embedding-stages.ts`. */
import { fanOut } from "../../images/fan-out.ts";
import { generate, type ImageTools } from "../../images/generate.ts";
import { planImage } from "../../images/plan/plan.ts";
import { limitImageCount } from "../../images/preflight.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { type VerifyOptions, verifyImagesStage } from "../../pipeline/verify-response.ts";
import type { PermittedModel } from "../../request/caller.ts";
import { composeStages, type StageRequest } from "../../request/stage.ts";
import type { Adapter } from "../../upstream/adapter.ts";
import type { GenerationQuery, ImageResponse, Target } from "../../upstream/contract.ts";
import { atVendor, endWithLine, readResult, targetOf } from "./line-stages.ts";
import { type PlannedRequest, partOf } from "./vendor-input.ts";

interface VendorImageStagesOptions extends VerifyOptions {
  readonly adapters: ReadonlyMap<string, Adapter>;
  readonly tools: ImageTools;
}

const imagePartOf = ({ part = 0, prompt, options: { n = 1 } }: GenerationQuery): string =>
  partOf(part, [prompt, n]);

export function vendorImageStages(options: VendorImageStagesOptions) {
  const { adapters, tools, onImplausibleUsage } = options;
  const requestOf = (target: Target, query: GenerationQuery) => {
    const { kind } = target.upstream;
    const adapter = adapters.get(kind);
    if (!adapter?.generations)
      throw new GatewayError("internal", `The kind ${kind} has no images.`);
    const { generations } = adapter;
    return { adapter, generations, request: generations.toUpstream(query, target) };
  };

  const readImages = async (
    stageRequest: StageRequest<GenerationQuery>,
  ): Promise<ImageResponse> => {
    const { query, temp } = stageRequest;
    const target = targetOf(stageRequest);
    const { adapter, generations, request } = requestOf(target, query);
    const part = imagePartOf(query);
    const images = await readResult(stageRequest, adapter, { request, part }, (response) =>
      generations.fromUpstream(response, { query, target, temp }),
    );
    if (images.kind !== "pending") return images;
    throw new GatewayError("internal", "The result of a vendor's batch is a job.");
  };

  return {
    send: endWithLine(
      composeStages<GenerationQuery, ImageResponse>(
        [
          limitImageCount<GenerationQuery>(),
          atVendor,
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
          requests.push({ request: requestOf(target, one).request, part: imagePartOf(one) });
          return { kind: "buffered", created: 0, metadata: {}, results: [] };
        },
        isStreaming: false,
        onMissing: () => undefined,
      });
      return requests;
    },
  };
}
