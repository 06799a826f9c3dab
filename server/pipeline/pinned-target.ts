/** Sends a request to one given target: without target selection, retries or hedging. */
import type { Send } from "../request/stage.ts";
import type { Target } from "../upstream/contract.ts";

export const pinnedTo =
  <Q, A>(target: Target, send: Send<Q, A>): Send<Q, A> =>
  (request) => {
    const { routing, trace } = request.record;
    routing.startAttempt(target);
    routing.upstreamRequests++;
    const traceHeaders = trace?.headersOf(trace.spanId);
    return send({ ...request, target, traceHeaders });
  };
