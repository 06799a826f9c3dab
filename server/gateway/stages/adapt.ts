/** Step 6: what must change before the model can serve it. What it cannot do is refused here. */
import { GatewayError } from "../../std/gateway-error.ts";
import type { GenerationQuery } from "../../upstream/contract.ts";
import type { Stage } from "./stage.ts";

export const adaptImages =
  <Q extends GenerationQuery, A>(): Stage<Q, A> =>
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
