/** What the stages of embeddings and of images at a vendor share. */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { Send, StageRequest } from "../../request/stage.ts";
import type { Adapter, UpstreamResponse } from "../../upstream/adapter.ts";
import { throwErrorInside } from "../../upstream/adapters/wire/error-in-response.ts";
import type { Target } from "../../upstream/contract.ts";
import type { PlannedRequest } from "./vendor-input.ts";

/** A result that is an error, or that is wrong, stays so: its line is not tried again. */
export const endWithLine =
  <Q, A>(next: Send<Q, A>): Send<Q, A> =>
  (request) =>
    next(request).catch((error: unknown) => {
      const isOfGateway = error instanceof GatewayError && error.definition.causedBy === "gateway";
      if (!isOfGateway) request.context.line?.vendor?.end();
      throw error;
    });

/** Selects the target: the vendor's. */
export const atVendor: <Q, A>(next: Send<Q, A>) => Send<Q, A> = (next) => (request) => {
  const { report, model, context } = request;
  const target = request.target ?? context.line?.vendor?.target;
  if (!target) throw new GatewayError("internal", "The line has no target.");
  report.startAttempt({ target, startedAt: undefined });
  report.reachedUpstream();
  report.addStep("run in a batch of the vendor");
  return next({ ...request, model: { ...model, targets: [target] }, target });
};

export function targetOf({ target }: StageRequest<unknown>): Target {
  if (target) return target;
  throw new GatewayError("internal", "No target was selected.");
}

/** In place of sending a request: reads the vendor's result. */
export async function readResult<Q extends { readonly model: string }, A>(
  stageRequest: StageRequest<Q>,
  adapter: Adapter,
  { request, part }: PlannedRequest,
  read: (response: UpstreamResponse) => Promise<A>,
): Promise<A> {
  const line = stageRequest.context.line?.vendor;
  if (!line) throw new GatewayError("internal", "The line has no result of a vendor.");
  const response = await line.responseTo(request, part);
  const about = { target: targetOf(stageRequest), model: stageRequest.query.model };
  if (response.status < 200 || response.status > 299)
    throw await adapter.readError(response, about);
  return read(response).catch((error: unknown) =>
    throwErrorInside(error, response, adapter, about),
  );
}
