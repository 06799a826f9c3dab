/**
 * Fills missing images: where a target generated some images of a request and failed the others, the missing images
 * are requested from the model's other targets if the error allows a retry. Images that arrived are kept and never
 * requested again.
 */
import { joinDeviations } from "../request/deviations.ts";
import { toGatewayError } from "../request/error-response.ts";
import type { Send, Stage, StageRequest } from "../request/stage.ts";
import { isUnsent, mayBillFailedAttempt, mayFailOver } from "../routing/retry-policy.ts";
import type {
  BufferedImageResponse,
  Deviations,
  GenerationQuery,
  ImageEvent,
  ImageResponse,
  MissingGroup,
  MissingImages,
} from "../upstream/contract.ts";
import { advanceSeed, eventsOf, mergeResponses } from "./fan-out.ts";
import { countMissing, deviationsOf, missingFrom } from "./missing-images.ts";

export const fillMissing =
  <Q extends GenerationQuery>(): Stage<Q, ImageResponse> =>
  (next) => {
    const send: Send<Q, ImageResponse> = async (request) => {
      const response = await next(request);
      if (response.kind === "stream") return completeStream(response, request, send);
      const followUp = planFollowUp(request, deviationsOf(response).missing);
      if (!followUp) return response;
      return request.query.stream
        ? completeStream(response, request, send, followUp)
        : completeBuffered(response, request, send, followUp);
    };
    return (request) => {
      if (request.model.targets.length === 1) return next(request);
      return send({ ...request, tried: { targets: new Set(), imageCount: 0, maybeBilled: 0 } });
    };
  };

interface FollowUp<Q> {
  readonly request: StageRequest<Q>;
  /** Images that are requested from other targets. */
  readonly count: number;
  /** Missing images that are not requested from another target. */
  readonly unrecoverable: readonly MissingGroup[];
}

function planFollowUp<Q extends GenerationQuery>(
  request: StageRequest<Q>,
  missing: MissingImages | undefined,
): FollowUp<Q> | undefined {
  const { tried, model, query } = request;
  if (!missing || !tried || request.signal().aborted) return undefined;
  const unrecoverable: MissingGroup[] = [];
  const retryable: MissingGroup[] = [];
  for (const group of missing.groups) {
    (mayFailOver(group.error, request) ? retryable : unrecoverable).push(group);
  }
  // If one of the failed requests was sent, the follow-up is a retry and takes from the retry budget. After an error of
  // an unsent request, it would take nothing.
  const after = retryable.find(({ error }) => !isUnsent(error)) ?? retryable[0];
  if (!after || model.targets.every((target) => tried.targets.has(target))) return undefined;
  const count = countMissing(retryable);
  const { targets, imageCount } = tried;
  const followUpQuery = {
    ...query,
    options: { ...query.options, n: count },
    extraFields: advanceSeed(query.extraFields, imageCount),
    part: (query.part ?? 0) + imageCount,
  };
  const failure = { error: after.error };
  const maybeBilled = countMissing(retryable.filter(({ error }) => mayBillFailedAttempt(error)));
  return {
    request: {
      ...request,
      query: followUpQuery,
      tried: { targets, imageCount: 0, maybeBilled, failure },
    },
    count,
    unrecoverable,
  };
}

/** Requests the missing images from other targets. If this fails, the client gets the images that arrived. */
async function completeBuffered<Q extends GenerationQuery>(
  response: BufferedImageResponse,
  { signal }: StageRequest<Q>,
  send: Send<Q, ImageResponse>,
  followUp: FollowUp<Q>,
): Promise<ImageResponse> {
  let more: ImageResponse;
  try {
    more = await send(followUp.request);
  } catch (error) {
    if (toGatewayError(error, signal()).kind === "client_closed") throw error;
    return { ...response, deviations: failedDeviations(response, followUp, error) };
  }
  if (more.kind === "stream")
    return {
      kind: "stream",
      events: appendFollowUp(response, more, followUp),
      deviations: () => joinedDeviations(response, followUp, more),
    };
  const deviations = joinedDeviations(response, followUp, more);
  return { ...mergeResponses([response, more]), deviations };
}

/** Passes the images on at once, then requests the missing ones from other targets, then ends the stream. */
function completeStream<Q extends GenerationQuery>(
  response: ImageResponse,
  request: StageRequest<Q>,
  send: Send<Q, ImageResponse>,
  plannedFollowUp?: FollowUp<Q>,
): ImageResponse {
  // While a missing image may still arrive, no header reports it as missing.
  const { missing: _, ...changes } = deviationsOf(response);
  let deviations = (): Deviations => (plannedFollowUp ? changes : deviationsOf(response));
  async function* events(): AsyncGenerator<ImageEvent> {
    let failure: unknown;
    try {
      yield* eventsOf(response);
    } catch (error) {
      failure = error;
    }
    const followUp = plannedFollowUp ?? planFollowUp(request, deviationsOf(response).missing);
    if (!followUp) {
      if (failure !== undefined) throw failure;
      return;
    }
    let more: ImageResponse;
    try {
      more = await send(followUp.request);
    } catch (error) {
      const failed = failedDeviations(response, followUp, error);
      deviations = () => failed;
      throw failed.missing?.error;
    }
    deviations = () => joinedDeviations(response, followUp, more);
    yield* streamFollowUp(response, more, followUp);
  }
  return { kind: "stream", events: events(), deviations: () => deviations() };
}

/** A buffered response, followed by the stream of another target. */
async function* appendFollowUp<Q>(
  response: ImageResponse,
  more: ImageResponse,
  followUp: FollowUp<Q>,
): AsyncGenerator<ImageEvent> {
  yield* eventsOf(response);
  yield* streamFollowUp(response, more, followUp);
}

async function* streamFollowUp<Q>(
  response: ImageResponse,
  more: ImageResponse,
  followUp: FollowUp<Q>,
): AsyncGenerator<ImageEvent> {
  let failure: unknown;
  try {
    yield* eventsOf(more);
  } catch (error) {
    failure = error;
  }
  const finalError = joinedDeviations(response, followUp, more).missing?.error ?? failure;
  if (finalError !== undefined) throw finalError;
}

/** The follow-up returned images, or a stream that has ended, perhaps with an error. */
function joinedDeviations<Q>(
  response: ImageResponse,
  { unrecoverable }: FollowUp<Q>,
  more: ImageResponse,
): Deviations {
  const after = deviationsOf(more);
  return {
    ...joinDeviations(deviationsOf(response), after),
    missing: missingFrom([...unrecoverable, ...(after.missing?.groups ?? [])]),
  };
}

const failedDeviations = <Q>(
  response: ImageResponse,
  { count, unrecoverable }: FollowUp<Q>,
  error: unknown,
): Deviations => ({
  ...deviationsOf(response),
  missing: missingFrom([...unrecoverable, { count, error }]),
});
