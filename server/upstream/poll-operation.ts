/**
 * Polls the pending operation of an image request until it is done, and requests partial images while an upstream
 * works on its response.
 */
import { GatewayError } from "../lib/gateway-error.ts";
import { ignoreRejection } from "../lib/tasks.ts";
import { sleep, withTimeout } from "../lib/timers.ts";
import type { RequestTemp } from "../temp-storage/request-temp.ts";
import type {
  ImageAdapter,
  PendingOperation,
  UpstreamRequest,
  UpstreamResponse,
} from "./adapter.ts";
import type {
  BufferedImageResponse,
  GenerationQuery,
  ImageEvent,
  ImageResponse,
  Target,
} from "./contract.ts";
import { markMayBeBilled } from "./may-have-been-billed.ts";

/** Sends one upstream request with its credentials. Rejects with the mapped error of an error response. */
export type SendAuthenticated = (
  request: UpstreamRequest,
  signal: AbortSignal,
) => Promise<UpstreamResponse>;

/** What is recorded on disk of the requests that are sent for a line of a job, so that none is sent or paid twice. */
export interface SendRecord {
  /** Called before a request is sent. Rejects with GatewayError if it may not be sent. */
  beforeSend(): Promise<void>;
  /**
   * The upstream has accepted the request as an operation of its own, which any process can poll. `estimate`: of its
   * cost, in US dollars, if a price is known.
   */
  onUpstreamOperation(
    target: Target,
    operation: PendingOperation,
    estimate: number | undefined,
  ): Promise<void>;
  /** An operation that an earlier process submitted to this target for the line, once. */
  takeUpstreamOperation(target: Target): PendingOperation | undefined;
  /** An operation of the upstream is not canceled with the request: another process polls it. */
  readonly keepsUpstreamOperation: boolean;
}

interface PollContext<Q extends GenerationQuery> {
  readonly adapter: ImageAdapter<Q>;
  readonly query: Q;
  readonly target: Target;
  readonly signal: AbortSignal;
  readonly temp: RequestTemp;
  readonly send: SendAuthenticated;
  /** The line of a job, of which the request is a part. Undefined if it is not. */
  readonly line?: Pick<SendRecord, "keepsUpstreamOperation"> | undefined;
}

/** The first and the longest interval between two polls. */
const firstPollMs = 400;
const maxPollMs = 3000;
/** An operation that has begun may be billed, so polling survives up to this many failed polls in a row. */
const maxFailedPolls = 8;

/** Polls until the image is done. An aborted request cancels the upstream's operation. */
export async function pollOperation<Q extends GenerationQuery>(
  context: PollContext<Q>,
  first: PendingOperation,
): Promise<BufferedImageResponse> {
  const { signal, send } = context;
  let pending = first;
  let waitMs = firstPollMs;
  let failures = 0;
  try {
    for (;;) {
      // After a failed poll, the backoff applies instead of the interval that the upstream requested.
      await sleep((failures === 0 ? pending.afterMs : undefined) ?? waitMs, signal);
      waitMs = Math.min(waitMs * 1.25, maxPollMs);
      if (!pending.poll)
        throw new GatewayError("internal", "A pending operation has no poll request.");
      const response = await send(pending.poll, signal).catch((error: unknown) => {
        if (signal.aborted || !isTransient(error) || ++failures > maxFailedPolls)
          // The upstream accepted the operation, so it may bill, whatever error a poll ends with.
          throw context.line?.keepsUpstreamOperation ? error : markMayBeBilled(error);
        return undefined;
      });
      if (!response) continue;
      failures = 0;
      const next = await readPoll(context, pending, response);
      if (next.kind === "buffered") return next;
      pending = { ...pending, ...next };
    }
  } catch (error) {
    // The request was canceled or has timed out, so the upstream need not finish the operation.
    if (signal.aborted && !context.line?.keepsUpstreamOperation) cancelOperation(context, pending);
    throw error;
  }
}

async function readPoll<Q extends GenerationQuery>(
  { adapter, query, target, temp }: PollContext<Q>,
  { operationId, cost }: PendingOperation,
  response: UpstreamResponse,
): Promise<BufferedImageResponse | PendingOperation> {
  const context = { query, target, temp, ...(operationId !== undefined && { operationId }) };
  const next = await adapter.fromUpstream(response, context);
  if (next.kind === "stream") throw new GatewayError("internal", "A poll returned a stream.");
  return next.kind === "buffered" && cost !== undefined ? { cost, ...next } : next;
}

function cancelOperation<Q extends GenerationQuery>(
  { send }: PollContext<Q>,
  { cancel }: PendingOperation,
): void {
  if (!cancel) return;
  const { signal } = new AbortController();
  // Best effort: the result of the cancel request does not matter.
  ignoreRejection(send(cancel, signal));
}

/** Transient errors. They include 404: some upstreams find an operation only a moment after they accepted it. */
const transientErrors: ReadonlySet<string> = new Set([
  "upstream_unreachable",
  "upstream_timeout",
  "upstream_overloaded",
  "upstream_error",
  "upstream_rate_limit",
  "slow_down",
  "model_not_found",
  // The gateway has no file descriptor left.
  "overloaded",
]);

const isTransient = (error: unknown): boolean =>
  error instanceof GatewayError && transientErrors.has(error.kind);

/** Requests partial images while the upstream works on its response. */
export async function* streamPartialImages<Q extends GenerationQuery>(
  { query, target, signal, send }: PollContext<Q>,
  watch: NonNullable<ImageAdapter<Q>["watch"]>,
  firstResponse: Promise<ImageResponse | PendingOperation>,
): AsyncGenerator<ImageEvent> {
  const maxPartialImages = query.options.partial_images ?? 0;
  let lastPartialImage = "";
  for (let partialImages = 0; partialImages < maxPartialImages; ) {
    if (await withTimeout(firstResponse, firstPollMs * 2)) break;
    const base64 = await send(watch.toUpstream(query, target), signal)
      .then((response) => watch.fromUpstream(response))
      // Partial images are optional: a failed one does not fail the request.
      .catch(() => undefined);
    if (base64 === undefined || base64 === lastPartialImage) continue;
    lastPartialImage = base64;
    yield { type: "partial", image: { kind: "base64", base64 }, index: partialImages++ };
  }
  const response = await firstResponse;
  if (response.kind !== "buffered")
    throw new GatewayError(
      "internal",
      "A request with partial images did not return a buffered response.",
    );
  yield { type: "buffered", response };
}
