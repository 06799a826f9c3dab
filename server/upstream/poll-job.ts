/** Job polling for images: sends the request and, if the upstream returns a pending job, polls until the job is done. */
import { GatewayError } from "../lib/gateway-error.ts";
import { unheard } from "../lib/ignore-rejection.ts";
import type { Scratch } from "../lib/request-temp.ts";
import type { Signal } from "../lib/signal.ts";
import { pause } from "../lib/sleep.ts";
import type { ImageAdapter, PendingJob, UpstreamRequest, UpstreamResponse } from "./adapter.ts";
import type { GenerationQuery, ImageEvent, ImageResponse, Target } from "./contract.ts";

/** Sends one question of a call with whatever proves that we may ask it. Rejects with a fault for what is no answer. */
export type SendAuthenticated = (
  request: UpstreamRequest,
  signal: Signal,
) => Promise<UpstreamResponse>;

/** Reads the response to the first request. An error in it that came with status 200 is thrown as that error. */
export type ReadFirst = (response: UpstreamResponse) => Promise<ImageResponse | PendingJob>;

export interface ImageJob<Q extends GenerationQuery> {
  readonly question: ImageAdapter<Q>;
  readonly query: Q;
  readonly target: Target;
  readonly signal: Signal;
  readonly scratch: Scratch;
  readonly ask: SendAuthenticated;
  readonly read: ReadFirst;
}

/** How soon, and at the latest how long after the last time, an upstream is asked whether it is done. */
const firstPollMs = 400;
const maxPollMs = 3000;
/** A picture that is being made is worth asking for again, even if some of the questions fail. */
const maxFailedPolls = 8;

export async function runImageJob<Q extends GenerationQuery>(
  drawing: ImageJob<Q>,
): Promise<ImageResponse> {
  const { question, query, target, signal, ask, read } = drawing;
  const asking = ask(question.toUpstream(query, target), signal).then(read);
  if (query.stream && question.watch) {
    return { kind: "stream", events: streamPreviews(drawing, question.watch, asking) };
  }
  const first = await asking;
  if (first.kind !== "pending") return first;
  if (query.stream) return { kind: "stream", events: pollUntilDone(drawing, first) };
  for await (const event of pollUntilDone(drawing, first)) {
    if (event.type === "whole") return event.reply;
  }
  throw new GatewayError("internal", "The wait for a picture ended without one.");
}

/** Previews as they come, then the picture. Whoever leaves early tells the upstream that nobody waits. */
async function* pollUntilDone<Q extends GenerationQuery>(
  drawing: ImageJob<Q>,
  first: PendingJob,
): AsyncGenerator<ImageEvent> {
  const { question, query, target, signal, scratch, ask } = drawing;
  let pending = first;
  let waitMs = firstPollMs;
  let failures = 0;
  let previews = 0;
  let shown = "";
  try {
    for (;;) {
      const { preview } = pending;
      if (preview !== undefined && preview !== shown && previews < maxPreviews(query)) {
        shown = preview;
        yield { type: "partial", image: { kind: "base64", base64: preview }, index: previews++ };
      }
      // Whoever did not answer is asked a little later, whatever they wished before.
      await pause((failures === 0 ? pending.afterMs : undefined) ?? waitMs, signal);
      waitMs = Math.min(waitMs * 1.25, maxPollMs);
      if (!pending.poll) throw new GatewayError("internal", "Nobody said how to ask again.");
      let reply: UpstreamResponse;
      try {
        reply = await ask(pending.poll, signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted || !isTransient(error) || ++failures > maxFailedPolls)
          throw markMayBeBilled(error);
        continue;
      }
      const next = await question.fromUpstream(reply, { query, target, scratch });
      if (next.kind === "whole") {
        const { cost } = pending;
        yield { type: "whole", reply: cost === undefined ? next : { cost, ...next } };
        return;
      }
      if (next.kind === "stream") throw new GatewayError("internal", "A poll answered a stream.");
      pending = { ...pending, ...next };
    }
  } catch (error) {
    // It failed by itself, or nobody waits: in the second case the upstream may save itself the work.
    if (signal.aborted) cancelJob(drawing, pending);
    throw error;
  }
}

function cancelJob<Q extends GenerationQuery>({ ask }: ImageJob<Q>, { cancel }: PendingJob): void {
  if (!cancel) return;
  const { signal } = new AbortController();
  // A courtesy: whether it is heard changes nothing for us.
  unheard(ask(cancel, signal));
}

/** Faults of the road and of the moment. 404, too: some upstreams know a job only a little after they took it. */
const transientErrors: ReadonlySet<string> = new Set([
  ...["upstream_unreachable", "upstream_timeout", "upstream_overloaded", "upstream_error"],
  ...["upstream_rate_limit", "slow_down", "model_not_found"],
]);

const isTransient = (error: unknown): boolean =>
  error instanceof GatewayError && transientErrors.has(error.fault);

/** The upstream has taken the job: whatever a question about it meets with, it may be paid for. */
const markMayBeBilled = (error: unknown): unknown =>
  error instanceof GatewayError
    ? new GatewayError(error.fault, error.message, { ...error.details, paid: true })
    : error;

const maxPreviews = ({ options }: GenerationQuery): number => options.partial_images ?? 0;

/** While the upstream works on its one answer, another question shows how far it is. */
async function* streamPreviews<Q extends GenerationQuery>(
  { query, target, signal, ask }: ImageJob<Q>,
  watch: NonNullable<ImageAdapter<Q>["watch"]>,
  asking: Promise<ImageResponse | PendingJob>,
): AsyncGenerator<ImageEvent> {
  let shown = "";
  for (let previews = 0; previews < maxPreviews(query); ) {
    const done = await Promise.race([asking, pause(firstPollMs * 2, signal).then(() => undefined)]);
    if (done) break;
    const preview = await ask(watch.toUpstream(query, target), signal)
      .then((reply) => watch.fromUpstream(reply))
      // A preview is a present: without it the picture comes all the same.
      .catch(() => undefined);
    if (preview === undefined || preview === shown) continue;
    shown = preview;
    yield { type: "partial", image: { kind: "base64", base64: preview }, index: previews++ };
  }
  const reply = await asking;
  if (reply.kind !== "whole")
    throw new GatewayError("internal", "A watched call was not answered.");
  yield { type: "whole", reply };
}
