/** Estimates of image requests for the admin API, after the checks that the image request itself passes. */
import type { ImageEstimateRequest } from "../../contract/admin.ts";
import type { Model } from "../config/snapshot.ts";
import { bodyWithoutNulls } from "../http/read-body.ts";
import { planRejection } from "../images/generate.ts";
import { tryPlanQuery } from "../images/plan/plan.ts";
import { checkImageCount, requireCapableTarget } from "../images/preflight.ts";
import { estimateImages } from "../limits/estimate-cost.ts";
import type {
  EditQuery,
  GenerationQuery,
  ImageOperation,
  ImageSource,
  Target,
} from "../upstream/contract.ts";
import { type ImageCapabilities, unrestrictedImages } from "../upstream/image-capabilities.ts";
import { parseGeneration } from "./generations.ts";

type CapabilitiesOf = (target: Target, operation: ImageOperation) => ImageCapabilities | undefined;

export const createImageEstimates =
  (capabilitiesOf: CapabilitiesOf) =>
  (model: Model, request: ImageEstimateRequest): ReturnType<typeof estimateImages> => {
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
