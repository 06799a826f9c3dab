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
  (call) => {
    const { n } = call.query.options;
    const { maxImages } = call.route;
    if (n !== undefined && n > maxImages) {
      throw new GatewayError(
        "invalid_value",
        `Invalid 'n': integer above maximum. Expected at most ${maxImages} for this model, but got ${n}.`,
        { param: "n" },
      );
    }
    return next(call);
  };

export interface PreflightOptions {
  /** The reason why this target cannot serve the request. Undefined where it can. */
  readonly rejectionReason: (call: StageRequest<GenerationQuery>, target: Target) => unknown;
  /** The same query with its uploads inspected to the last pixel. Throws what is wrong with them. */
  readonly checkEdit: (query: EditQuery, call: StageRequest<GenerationQuery>) => Promise<EditQuery>;
}

export const preflight =
  <Q extends GenerationQuery>({
    rejectionReason: objects,
    checkEdit,
  }: PreflightOptions): Stage<Q, ImageResponse> =>
  (next) =>
  async (call) => {
    const reasons = call.route.targets.map((target) => objects(call, target));
    // The error of the first target is reported: it is the operator's preferred one.
    if (reasons.length > 0 && reasons.every((objection) => objection !== undefined))
      throw reasons[0];
    const { query } = call;
    if (!("images" in query)) return next(call);
    const checked = await checkEdit(query as GenerationQuery as EditQuery, call);
    return next({ ...call, query: { ...query, ...checked } });
  };
