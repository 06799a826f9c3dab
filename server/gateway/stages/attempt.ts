/** Tries a model's targets in order until one answers, or a fault says that no other would. */
import { GatewayError } from "../../std/gateway-error.ts";
import type { Call, Stage } from "./stage.ts";

export const attempt =
  <Q, A>(): Stage<Q, A> =>
  (next) =>
  async (call) => {
    const { route, trip, signal } = call;
    for (const [at, target] of route.targets.entries()) {
      trip.attempt(target);
      try {
        return await next({ ...call, target });
      } catch (error) {
        const last = at === route.targets.length - 1;
        if (last || signal.aborted || !mayTryElsewhere(error, call)) throw error;
      }
    }
    throw new GatewayError("internal", `The model \`${route.id}\` has no target.`);
  };

/** A picture that may have been paid for is not ordered a second time. */
function mayTryElsewhere<Q>(error: unknown, { operation }: Call<Q>): boolean {
  if (!(error instanceof GatewayError) || error.row.retry !== "elsewhere") return false;
  return operation === "embeddings" || error.details.unsent === true || !error.row.maybePaid;
}
