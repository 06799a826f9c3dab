/** /image-estimates: what an image request would cost. The images playground shows it before the click. */
import { z } from "zod";
import type { ImageEstimate, ImageEstimateRequest } from "../../../contract/admin.ts";
import type { Model, Snapshot } from "../../config/snapshot.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { maxTextLength } from "../../lib/max-text-length.ts";
import type {
  EditQuery,
  GenerationQuery,
  ImageOptions,
  ImageSource,
} from "../../upstream/contract.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { readBody } from "../read-body.ts";

export type EstimateImages = (
  model: Model,
  operation: "generations" | "edits",
  query: GenerationQuery | EditQuery,
) => { readonly dollars: number | undefined; readonly maxDollars?: number | undefined } & {
  readonly isCertain: boolean;
};

export interface ImageEstimateRoutesOptions {
  readonly snapshot: () => Snapshot;
  readonly estimate: EstimateImages;
}

const body = z.strictObject({
  model: z.string().min(1),
  prompt: z.string().max(maxTextLength),
  options: z.record(z.string(), z.union([z.string(), z.number()])),
  references: z.int().min(0).max(16),
  mask: z.boolean(),
}) satisfies z.ZodType<ImageEstimateRequest>;

export function imageEstimateRoutes({
  snapshot,
  estimate,
}: ImageEstimateRoutesOptions): readonly AdminRoute[] {
  const create = async (context: AdminApiContext): Promise<Response> => {
    const request = await readBody(context, body);
    const model = snapshot().models.get(request.model);
    if (model?.kind !== "image") {
      throw new GatewayError("model_not_found", `There is no image model ${request.model}.`, {
        param: "model",
      });
    }
    const operation = request.references > 0 ? "edits" : "generations";
    const { dollars, maxDollars, isCertain } = estimate(model, operation, queryOf(request));
    return context.json({
      object: "image_estimate",
      cost: dollars ?? null,
      max_cost: maxDollars ?? dollars ?? null,
      is_certain: isCertain,
    } satisfies ImageEstimate);
  };
  return [
    {
      method: "POST",
      path: "/image-estimates",
      role: "developer",
      scope: "gateway",
      summary: "Estimate what an image request would cost.",
      body,
      response: "ImageEstimate",
      handle: create,
    },
  ];
}

/** The price depends on the number of reference images, not on their content. */
const anyImage: ImageSource = { kind: "url", url: "https://example.invalid/image.png" };

function queryOf(request: ImageEstimateRequest): GenerationQuery | EditQuery {
  const { model, prompt, references, mask } = request;
  const options = request.options as ImageOptions;
  const query = { model, prompt, stream: false, options, extraFields: {} };
  if (references === 0) return query;
  const images = Array.from({ length: references }, () => anyImage);
  return { ...query, images, files: [], ...(mask && { mask: anyImage }) };
}
