/** Adds each attempt of a request to its charge, when the attempt ends. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { Target } from "../upstream/contract.ts";
import { mayBillFailedAttempt, wasInterrupted } from "../upstream/may-have-been-billed.ts";
import type { Send, StageRequest } from "./stage.ts";

/** `response`: undefined if there is none, and the upstream may bill the attempt all the same. */
export type ChargeAttempt<Q, A> = (
  request: StageRequest<Q>,
  target: Target,
  response: A | undefined,
) => void;

/** Whether the upstream may bill an attempt that failed or was canceled. */
export const mayBeCharged = (error: unknown): boolean =>
  !(error instanceof GatewayError) || mayBillFailedAttempt(error) || wasInterrupted(error);

/** For requests without the routing stage: their only attempt. */
export const chargeOnlyAttempt =
  <Q, A>(target: Target, charge: ChargeAttempt<Q, A>, send: Send<Q, A>): Send<Q, A> =>
  async (request) => {
    try {
      const response = await send(request);
      charge(request, target, response);
      return response;
    } catch (error) {
      if (mayBeCharged(error)) charge(request, target, undefined);
      throw error;
    }
  };
