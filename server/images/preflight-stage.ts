/** Before any upstream is asked: how many, can anyone do it at all, and are the uploads what they should be. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { Call, Stage } from "../request/stage.ts";
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
  /** Why this target cannot serve the call. Undefined where it can. */
  readonly rejectionReason: (call: Call<GenerationQuery>, target: Target) => unknown;
  /** The same query with its uploads looked at, to the last pixel. Throws what is wrong with them. */
  readonly checkEdit: (query: EditQuery, call: Call<GenerationQuery>) => Promise<EditQuery>;
}

export const preflight =
  <Q extends GenerationQuery>({
    rejectionReason: objects,
    checkEdit,
  }: PreflightOptions): Stage<Q, ImageResponse> =>
  (next) =>
  async (call) => {
    const why = call.route.targets.map((target) => objects(call, target));
    // Of several, the first is the one the operator meant to serve it.
    if (why.length > 0 && why.every((objection) => objection !== undefined)) throw why[0];
    const { query } = call;
    if (!("images" in query)) return next(call);
    const checked = await checkEdit(query as GenerationQuery as EditQuery, call);
    return next({ ...call, query: { ...query, ...checked } });
  };
