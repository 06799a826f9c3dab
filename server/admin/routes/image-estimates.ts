/**
 * /image-estimates: what an image request would cost. The images playground shows the estimate before the request is
 * sent.
 */
import { z } from "zod";
import { imageEstimateSchema } from "../../../contract/admin/models.ts";
import type { ImageEstimate, ImageEstimateRequest } from "../../../contract/admin.ts";
import { message } from "../../../contract/messages/message.ts";
import { boundedRecord } from "../../../contract/schemas/bounded-record.ts";
import type { Model, Snapshot } from "../../config/snapshot.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { maxTextLength } from "../../request/max-text-length.ts";
import type { AdminApiContext, AdminRoute } from "../admin-route.ts";
import { readBody } from "../read-body.ts";

/** Throws the GatewayError that the image request would get. */
export type EstimateImages = (
  model: Model,
  request: ImageEstimateRequest,
) => {
  readonly dollars: number | undefined;
  readonly maxDollars?: number | undefined;
  readonly isCertain: boolean;
};

interface ImageEstimateRoutesOptions {
  readonly snapshot: () => Snapshot;
  readonly estimate: EstimateImages;
}

const optionValue = z.union([z.string().max(4096), z.number(), z.boolean(), z.null()]);

const body = z.strictObject({
  model: z.string().min(1).max(200),
  prompt: z.string().max(maxTextLength),
  options: boundedRecord(z.string().max(100), optionValue, 100),
  references: z.int().min(0).max(16),
  mask: z.boolean(),
}) satisfies z.ZodType<ImageEstimateRequest>;

export function imageEstimateRoutes({
  snapshot,
  estimate,
}: ImageEstimateRoutesOptions): readonly AdminRoute[] {
  const show = (model: Model, request: ImageEstimateRequest): ImageEstimate => {
    try {
      const { dollars, maxDollars, isCertain } = estimate(model, request);
      return {
        object: "image_estimate",
        cost: dollars ?? null,
        max_cost: maxDollars ?? dollars ?? null,
        is_certain: isCertain,
        refusal: null,
      };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return {
        object: "image_estimate",
        cost: null,
        max_cost: null,
        is_certain: false,
        refusal: error.message,
      };
    }
  };
  const create = async (context: AdminApiContext): Promise<Response> => {
    const request = await readBody(context, body);
    const model = snapshot().models.get(request.model);
    if (model?.kind !== "image") {
      throw new GatewayError(
        "model_not_found",
        message("no_such_image_model", { model: request.model }),
        {
          param: "model",
        },
      );
    }
    return context.json(show(model, request));
  };
  return [
    {
      method: "POST",
      path: "/image-estimates",
      needs: "develop",
      scope: "gateway",
      summary: "Estimate what an image request would cost.",
      body,
      response: imageEstimateSchema,
      handle: create,
    },
  ];
}
