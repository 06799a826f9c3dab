/**
 * The stages of images that the batch of a vendor runs, as `vendor-stages.ts` for embeddings: `plan` returns the upstream
 * requests of a line, and `send` passes the line through the stages with the vendor's results as the responses.
 */
import { fanOut } from "../images/fan-out.ts";
import { generate, type ImageTools } from "../images/generate.ts";
import { planImage } from "../images/plan/plan.ts";
import { limitImageCount } from "../images/preflight.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { PermittedModel } from "../request/caller.ts";
import { composeStages, type StageRequest } from "../request/stage.ts";
import type { Adapter, UpstreamRequest } from "../upstream/adapter.ts";
import { throwErrorInside } from "../upstream/adapters/wire/error-in-response.ts";
import type { GenerationQuery, ImageResponse, Target } from "../upstream/contract.ts";
import { atTarget, endWithLine, targetOf } from "./vendor-stages.ts";
import { type VerifyOptions, verifyImagesStage } from "./verify-response.ts";

interface VendorImageStagesOptions extends VerifyOptions {
  readonly adapters: ReadonlyMap<string, Adapter>;
  readonly tools: ImageTools;
}

export function vendorImageStages(options: VendorImageStagesOptions) {
  const { adapters, tools, onImplausibleUsage } = options;
  const endpointOf = ({ upstream }: Target) => {
    const adapter = adapters.get(upstream.kind);
    if (adapter?.generations) return { adapter, generations: adapter.generations };
    throw new GatewayError("internal", `The kind ${upstream.kind} has no images.`);
  };

  /** Reads the vendor's result. */
  const readResult = async (request: StageRequest<GenerationQuery>): Promise<ImageResponse> => {
    const { query, context, temp } = request;
    const { line, target } = { line: context.line?.vendor, target: targetOf(request) };
    if (!line) throw new GatewayError("internal", "The line has no result of a vendor.");
    const { adapter, generations } = endpointOf(target);
    const response = await line.responseTo(generations.toUpstream(query, target));
    const about = { target, model: query.model };
    if (response.status < 200 || response.status > 299)
      throw await adapter.readError(response, about);
    const images = await generations
      .fromUpstream(response, { query, target, temp })
      .catch((error: unknown) => throwErrorInside(error, response, adapter, about));
    if (images.kind !== "pending") return images;
    throw new GatewayError("internal", "The result of a vendor's batch is a job.");
  };

  return {
    send: composeStages(
      [
        endWithLine<GenerationQuery, ImageResponse>,
        limitImageCount<GenerationQuery>(),
        atTarget<GenerationQuery, ImageResponse>(({ context }) => context.line?.vendor?.target),
        generate<GenerationQuery>(tools),
        verifyImagesStage<GenerationQuery>({ onImplausibleUsage }),
      ],
      readResult,
    ),
    /** Throws GatewayError if the target refuses the line. */
    plan: async (
      query: GenerationQuery,
      { maxImages }: PermittedModel,
      target: Target,
      policy: NonNullable<PermittedModel["parameters"]>,
    ): Promise<readonly UpstreamRequest[]> => {
      if ((query.options.n ?? 1) > maxImages) return [];
      const { generations } = endpointOf(target);
      const requests: UpstreamRequest[] = [];
      const plan = planImage(query, tools.capabilitiesOf(target, "generations"), policy);
      await fanOut(plan, {
        send: async (part) => {
          requests.push(generations.toUpstream(part, target));
          return { kind: "buffered", created: 0, metadata: {}, results: [] };
        },
        isStreaming: false,
        onMissing: () => undefined,
      });
      return requests;
    },
  };
}
