/** What the stages of embeddings and of images at a vendor share. */
import { GatewayError } from "../../lib/gateway-error.ts";
import type { VendorLine } from "../../request/job-line.ts";
import type { Send, StageRequest } from "../../request/stage.ts";
import type { Adapter, UpstreamResponse } from "../../upstream/adapter.ts";
import { throwErrorInside } from "../../upstream/adapters/wire/error-in-response.ts";
import type { Target } from "../../upstream/contract.ts";
import type { SentRequest } from "./sent-requests.ts";

/** A result that is an error, or that is wrong, stays so: its line is not tried again. */
export const endWithLine =
  <Q, A>(next: Send<Q, A>): Send<Q, A> =>
  (request) =>
    next(request).catch((error: unknown) => {
      const isOfGateway = error instanceof GatewayError && error.definition.causedBy === "gateway";
      if (!isOfGateway) request.context.line?.vendor?.end();
      throw error;
    });

/** Selects the target: the vendor's, and the model as it was when the line was sent. */
export const atVendor: <Q, A>(next: Send<Q, A>) => Send<Q, A> = (next) => (request) => {
  const { report, model, context } = request;
  const { vendor } = context.line ?? {};
  const target = request.target ?? vendor?.target;
  if (!target) throw new GatewayError("internal", "The line has no target.");
  report.startAttempt({ target, startedAt: undefined });
  report.reachedUpstream();
  report.addStep("run in a batch of the vendor");
  return next({ ...request, model: { ...model, ...vendor?.model, targets: [target] }, target });
};

export function targetOf({ target }: StageRequest<unknown>): Target {
  if (target) return target;
  throw new GatewayError("internal", "No target was selected.");
}

export function vendorLineOf({ context }: StageRequest<unknown>): VendorLine {
  if (context.line?.vendor) return context.line.vendor;
  throw new GatewayError("internal", "The line has no result of a vendor.");
}

/** In place of sending a request: reads the vendor's result. */
export async function readResult<A>(
  stageRequest: StageRequest<{ readonly model: string }>,
  adapter: Adapter,
  sent: Pick<SentRequest, "ids">,
  read: (response: UpstreamResponse) => Promise<A>,
): Promise<A> {
  const response = await vendorLineOf(stageRequest).responseTo(sent);
  const about = { target: targetOf(stageRequest), model: stageRequest.query.model };
  if (response.status < 200 || response.status > 299)
    throw await adapter.readError(response, about);
  return read(response).catch((error: unknown) =>
    throwErrorInside(error, response, adapter, about),
  );
}
