/** The first step of a chain: a prompt is shown to a moderation, where the model has one, before any picture is paid for. */
import { GatewayError } from "../../std/gateway-error.ts";
import type { GenerationQuery, ImageReply } from "../../upstream/contract.ts";
import type { Reach } from "../../upstream/reach.ts";
import type { Call, Stage } from "./stage.ts";

export const moderate =
  <Q extends GenerationQuery>(ask: Reach["moderation"]): Stage<Q, ImageReply> =>
  (next) =>
  async (call) => {
    const { route, trip } = call;
    if (!route.moderation) return next(call);
    const flagged = await look(ask, call);
    if (flagged) {
      trip.step("moderation: flagged");
      throw new GatewayError(
        "moderation_blocked",
        `Your request was rejected by the safety system. safety_violations=[${flagged.join(", ")}].`,
        { extra: { moderation_details: { moderation_stage: "input", categories: flagged } } },
      );
    }
    return next(call);
  };

/** The categories for which it was flagged; undefined where it may be drawn. */
async function look<Q extends GenerationQuery>(
  ask: Reach["moderation"],
  { route, query, signal, trip }: Call<Q>,
): Promise<readonly string[] | undefined> {
  const { moderation } = route;
  if (!moderation) return undefined;
  try {
    const { flagged, categories } = await ask(query.prompt, query.model, moderation.target, signal);
    if (!flagged) trip.step("moderation: passed");
    return flagged ? categories : undefined;
  } catch (error) {
    const fault = error instanceof GatewayError ? error.fault : "defect";
    trip.step(`moderation: ${fault}`);
    if (signal.aborted || moderation.onFailure === "refuse") throw unseen(error);
    return undefined;
  }
}

/** Whoever asks again may have more luck; whether the moderation's own words suit a caller, nobody knows. */
const unseen = (error: unknown): unknown =>
  error instanceof GatewayError && error.row.blame === "upstream"
    ? new GatewayError(
        "upstream_error",
        "The prompt could not be shown to the moderation, so nothing was drawn. Please try again later.",
        { unsent: true, logged: `moderation: ${error.fault}` },
      )
    : error;
