/**
 * Prompt moderation: sends the prompt to the moderation upstream of the model, if one is configured, before an image is
 * generated.
 */
import type { Moderation } from "../config/snapshot.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Stage, StageRequest } from "../request/stage.ts";
import type { GenerationQuery, ImageResponse, ModerationResponse } from "../upstream/contract.ts";

/** Sends the prompt of a request to a moderation model, as a request of its own. Throws GatewayError. */
export type CheckPrompt = (
  request: StageRequest<GenerationQuery>,
  moderation: Moderation,
) => Promise<ModerationResponse>;

interface ModerateOptions<Q> {
  readonly checkPrompt: CheckPrompt;
  /** Throws if no target is available: then the moderation request is not sent. */
  readonly requireAvailableTarget: (request: StageRequest<Q>) => void;
}

export const moderate =
  <Q extends GenerationQuery>(options: ModerateOptions<Q>): Stage<Q, ImageResponse> =>
  (next) =>
  async (request) => {
    const { model, report } = request;
    if (!model.moderation) return next(request);
    options.requireAvailableTarget(request);
    const flagged = await flaggedCategories(options, request, model.moderation);
    if (flagged) {
      report.addStep("moderation_flagged");
      throw new GatewayError(
        "moderation_blocked",
        `Your request was rejected by the safety system. safety_violations=[${flagged.join(", ")}].`,
        { extra: { moderation_details: { moderation_stage: "input", categories: flagged } } },
      );
    }
    return next(request);
  };

/** The flagged categories. Undefined where the prompt passes. */
async function flaggedCategories<Q extends GenerationQuery>(
  { checkPrompt }: ModerateOptions<Q>,
  request: StageRequest<Q>,
  moderation: Moderation,
): Promise<readonly string[] | undefined> {
  const { report } = request;
  try {
    const { flagged, categories } = await checkPrompt(request, moderation);
    if (!flagged) report.addStep("moderation_passed");
    return flagged ? categories : undefined;
  } catch (error) {
    const kind = error instanceof GatewayError ? error.kind : "internal";
    report.addStep("moderation_failed", { error: kind });
    request.signal().throwIfAborted();
    if (moderation.onFailure === "refuse" || !isUnavailable(error)) throw moderationFailed(error);
    return undefined;
  }
}

/**
 * The moderation upstream failed. Only then does `onFailure: allow` apply. A client must not be able to switch the
 * moderation off, so the image request fails with every error that the client can cause: the limits that the operator
 * has set for the moderation upstream, a budget that is too small for the moderation, a price that its key requires, or
 * a prompt that the upstream rejects as invalid.
 */
function isUnavailable(error: unknown): boolean {
  if (!(error instanceof GatewayError)) return false;
  const { causedBy, retry } = error.definition;
  return causedBy === "upstream" && retry !== "never";
}

/** A retry may succeed. The moderation's own error message may not be meant for clients, so it goes to the log. */
const moderationFailed = (error: unknown): unknown =>
  error instanceof GatewayError && error.definition.causedBy === "upstream"
    ? new GatewayError(
        "upstream_error",
        "The moderation service could not check the prompt, so no image was generated. Please try again later.",
        { notSent: true, logDetail: `moderation: ${error.kind}` },
      )
    : error;
