/** Estimates of image requests for the admin API, after the checks that the image request itself passes. */
import type { ImageEstimateRequest } from "../../contract/admin.ts";
import type { ImageCapabilitiesOf } from "../admin/image-options.ts";
import type { EstimateImages } from "../admin/routes/image-estimates.ts";
import { parseGeneration } from "../api/generations.ts";
import { estimateImages } from "../budgets/estimate-cost.ts";
import { bodyWithoutNulls } from "../http/read-body.ts";
import { planRejection } from "../images/generate.ts";
import { tryPlanQuery } from "../images/plan/plan.ts";
import { checkImageCount, requireCapableTarget } from "../images/preflight.ts";
import type { EditQuery, GenerationQuery, ImageSource, Target } from "../upstream/contract.ts";
import { unrestrictedImages } from "../upstream/image-capabilities.ts";

export const createImageEstimates =
  (capabilitiesOf: ImageCapabilitiesOf): EstimateImages =>
  (model, request) => {
    const query = queryOf(request);
    const operation = request.references > 0 ? "edits" : "generations";
    const policy = model.parameters ?? "adapt";
    const capabilities = (target: Target) =>
      capabilitiesOf(target, operation) ?? unrestrictedImages;
    checkImageCount(query, model);
    requireCapableTarget(
      model.targets.map((target) => planRejection(query, capabilities(target), policy)),
    );
    return estimateImages({
      operation,
      targets: model.targets,
      planFor: (target) => tryPlanQuery(query, capabilities(target), policy),
    });
  };

/** The price depends on the number of reference images, not on their content. */
const anyImage: ImageSource = { kind: "url", url: "https://example.invalid/image.png" };

/** An estimate may be requested before the prompt is written. */
function queryOf(request: ImageEstimateRequest): GenerationQuery | EditQuery {
  const { model, prompt, options, references, mask } = request;
  const query = parseGeneration({ ...bodyWithoutNulls(options), model, prompt: prompt || " " });
  if (references === 0) return query;
  const images = Array.from({ length: references }, () => anyImage);
  return { ...query, images, files: [], ...(mask && { mask: anyImage }) };
}
