/**
 * Preflight stages, before any upstream request: limits the image count, requires a capable target and checks the
 * uploads.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import type { Stage, StageRequest } from "../request/stage.ts";
import type { EditQuery, GenerationQuery, ImageResponse, Target } from "../upstream/contract.ts";

export const limitImageCount =
  <Q extends GenerationQuery>(): Stage<Q, ImageResponse> =>
  (next) =>
  (request) => {
    const { n } = request.query.options;
    const { maxImages } = request.route;
    if (n !== undefined && n > maxImages) {
      throw new GatewayError(
        "invalid_value",
        `Invalid 'n': integer above maximum. Expected at most ${maxImages} for this model, but got ${n}.`,
        { param: "n" },
      );
    }
    return next(request);
  };

export interface PreflightOptions {
  /** The reason why this target cannot serve the request. Undefined where it can. */
  readonly rejectionReason: (request: StageRequest<GenerationQuery>, target: Target) => unknown;
  /** Returns the query with its uploads inspected to the last pixel. Throws GatewayError for an invalid upload. */
  readonly checkEdit: (
    query: EditQuery,
    request: StageRequest<GenerationQuery>,
  ) => Promise<EditQuery>;
}

export const preflight =
  <Q extends GenerationQuery>({
    rejectionReason,
    checkEdit,
  }: PreflightOptions): Stage<Q, ImageResponse> =>
  (next) =>
  async (request) => {
    const reasons = request.route.targets.map((target) => rejectionReason(request, target));
    // The error of the first target is reported: it is the operator's preferred one.
    if (reasons.length > 0 && reasons.every((reason) => reason !== undefined)) throw reasons[0];
    const { query } = request;
    if (!("images" in query)) return next(request);
    const checked = await checkEdit(query as GenerationQuery as EditQuery, request);
    return next({ ...request, query: { ...query, ...checked } });
  };
