/** Tries a model's targets in order until one answers, or a fault says that no other would. */
import { GatewayError } from "../../std/gateway-error.ts";
import type { Target } from "../../upstream/contract.ts";
import type { Call, Send, Stage } from "./stage.ts";

export interface AttemptOptions<Q, A> {
  /** Whether this target may be asked this. Absent: any may. */
  readonly able?: (call: Call<Q>, target: Target) => boolean;
  /**
   * How a target is asked, when others could be asked instead. Absent: it is asked, and waited for. Takes those of the
   * others that it asks as well out of the list.
   */
  readonly ask?: (next: Send<Q, A>, call: Call<Q>, target: Target, others: Target[]) => Promise<A>;
}

export const attempt =
  <Q, A>({ able, ask }: AttemptOptions<Q, A> = {}): Stage<Q, A> =>
  (next) => {
    const several = async (call: Call<Q>): Promise<A> => {
      const { route, trip, signal } = call;
      const others = route.targets.filter((target) => able?.(call, target) ?? true);
      for (let target = others.shift(); target; target = others.shift()) {
        try {
          if (ask && others.length > 0) return await ask(next, call, target, others);
          trip.attempt(target);
          return await next({ ...call, target });
        } catch (error) {
          if (others.length === 0 || signal.aborted || !mayTryElsewhere(error, call)) throw error;
        }
      }
      throw new GatewayError(
        "upstream_invalid",
        `No target of the model \`${route.id}\` can serve this call: those that could give vectors that cannot be compared with the model's others. Ask the operator of this gateway.`,
      );
    };
    return (call) => {
      const [only] = call.route.targets;
      // Most models have one target, and nothing to choose.
      if (call.route.targets.length !== 1 || !only) return several(call);
      call.trip.attempt(only);
      return next({ ...call, target: only });
    };
  };

/** A picture that may have been paid for is not ordered a second time. */
function mayTryElsewhere<Q>(error: unknown, { operation }: Call<Q>): boolean {
  if (!(error instanceof GatewayError) || error.row.retry !== "elsewhere") return false;
  return operation === "embeddings" || error.details.unsent === true || !error.row.maybePaid;
}
