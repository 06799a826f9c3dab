/**
 * Fills missing images: where a target generated some images of a request and failed the others, the missing images
 * are requested from the model's other targets if the error allows a retry. Images that arrived are kept and never
 * requested again.
 */
import { toGatewayError } from "../request/error-response.ts";
import type {
  MissingGroup,
  MissingImages,
  ParametersRecord,
  RequestRecord,
} from "../request/request-record.ts";
import type { Send, Stage, StageRequest } from "../request/stage.ts";
import { isUnsent, mayBillFailedAttempt, mayFailOver } from "../routing/retry-policy.ts";
import type {
  BufferedImageResponse,
  GenerationQuery,
  ImageEvent,
  ImageResponse,
  Target,
} from "../upstream/contract.ts";
import { advanceSeed, countImagesIn, eventsOf, mergeResponses } from "./fan-out.ts";
import { countMissing, isBillingUncertain, missingFrom } from "./missing-images.ts";

export const fillMissing =
  <Q extends GenerationQuery>(): Stage<Q, ImageResponse> =>
  (next) => {
    const send: Send<Q, ImageResponse> = async (request) => {
      const response = await next(request);
      if (response.kind === "stream")
        return { kind: "stream", events: completeStream(response, request, send) };
      const followUp = planFollowUp(request, request.record.images.missing);
      if (!followUp) return response;
      if (request.query.stream) {
        // The missing image may still arrive, so no header reports it as missing.
        request.record.images.missing = undefined;
        return { kind: "stream", events: completeStream(response, request, send, followUp) };
      }
      return completeBuffered(response, request, send, followUp);
    };
    return (request) => {
      request.record.images.requested = request.query.options.n ?? 1;
      if (request.model.targets.length === 1) return next(request);
      return send({ ...request, tried: { targets: new Set(), imageCount: 0 } });
    };
  };

/** The missing images, by whether they are requested from other targets. */
interface MissingCounts {
  /** Images that are requested from other targets. */
  readonly count: number;
  /** How many of these images may have been billed already. */
  readonly maybeBilled: number;
  /** Missing images that are not requested from another target. */
  readonly unrecoverable: readonly MissingGroup[];
}

interface FollowUp<Q> extends MissingCounts {
  readonly request: StageRequest<Q>;
}

function planFollowUp<Q extends GenerationQuery>(
  request: StageRequest<Q>,
  missing: MissingImages | undefined,
): FollowUp<Q> | undefined {
  const { tried, model, query, signal } = request;
  if (!missing || !tried || signal.aborted) return undefined;
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
  return {
    request: { ...request, query: followUpQuery, tried: { targets, imageCount: 0, failure } },
    count,
    maybeBilled: countMissing(retryable.filter(({ error }) => mayBillFailedAttempt(error))),
    unrecoverable,
  };
}

/** Requests the missing images from other targets. If this fails, the client gets the images that arrived. */
async function completeBuffered<Q extends GenerationQuery>(
  response: BufferedImageResponse,
  { record, signal }: StageRequest<Q>,
  send: Send<Q, ImageResponse>,
  followUp: FollowUp<Q>,
): Promise<ImageResponse> {
  const partial = new PartialRecord(record, followUp);
  let followUpResponse: ImageResponse;
  try {
    followUpResponse = await send(followUp.request);
  } catch (error) {
    partial.mergeFailure(error, signal);
    if (toGatewayError(error, signal).kind === "client_closed") throw error;
    return response;
  }
  if (followUpResponse.kind === "stream") {
    const events = appendFollowUp(response, followUpResponse, partial, record);
    return { kind: "stream", events };
  }
  partial.mergeSuccess();
  return mergeResponses([response, followUpResponse]);
}

/** Passes the images on at once, then requests the missing ones from other targets, then ends the stream. */
async function* completeStream<Q extends GenerationQuery>(
  response: ImageResponse,
  request: StageRequest<Q>,
  send: Send<Q, ImageResponse>,
  plannedFollowUp?: FollowUp<Q>,
): AsyncGenerator<ImageEvent> {
  const { record, signal } = request;
  let delivered = 0;
  let failure: unknown;
  try {
    for await (const event of eventsOf(response)) {
      delivered += countImagesIn(event);
      yield event;
    }
  } catch (error) {
    failure = error;
  }
  const followUp = plannedFollowUp ?? planFollowUp(request, record.images.missing);
  if (!followUp) {
    if (failure !== undefined) throw failure;
    return;
  }
  // A stream that delivered no image and reported no cost adds 0: otherwise the sum would be unknown.
  if (delivered === 0) record.cost.actual ??= 0;
  const partial = new PartialRecord(record, followUp);
  let followUpResponse: ImageResponse;
  try {
    followUpResponse = await send(followUp.request);
  } catch (error) {
    partial.mergeFailure(error, signal);
    throw record.images.missing?.error;
  }
  yield* streamFollowUp(followUpResponse, partial, record);
}

/** A buffered response, followed by the stream of another target. */
async function* appendFollowUp(
  response: ImageResponse,
  followUpResponse: ImageResponse,
  partial: PartialRecord,
  record: RequestRecord,
): AsyncGenerator<ImageEvent> {
  yield* eventsOf(response);
  yield* streamFollowUp(followUpResponse, partial, record);
}

async function* streamFollowUp(
  followUpResponse: ImageResponse,
  partial: PartialRecord,
  record: RequestRecord,
): AsyncGenerator<ImageEvent> {
  let failure: unknown;
  try {
    yield* eventsOf(followUpResponse);
  } catch (error) {
    failure = error;
  } finally {
    partial.mergeSuccess();
  }
  const finalError = record.images.missing?.error ?? failure;
  if (finalError !== undefined) throw finalError;
}

interface SavedFields {
  readonly cost: number | undefined;
  readonly earlierAttemptMayBeBilled: boolean;
  readonly usage: RequestRecord["usage"];
  readonly parameters: ParametersRecord;
  readonly target: Target | undefined;
}

/**
 * Saves the record fields of a partial image response while another target generates the missing images, and merges
 * both afterwards.
 */
class PartialRecord {
  readonly #record: RequestRecord;
  readonly #saved: SavedFields;
  readonly #followUp: MissingCounts;
  readonly #attempts: number;

  constructor(record: RequestRecord, followUp: MissingCounts) {
    this.#record = record;
    this.#saved = {
      cost: record.cost.actual,
      earlierAttemptMayBeBilled: record.cost.earlierAttemptMayBeBilled,
      usage: record.usage,
      parameters: { ...record.parameters },
      target: record.routing.target,
    };
    this.#followUp = followUp;
    this.#attempts = initialAttempts(record);
    record.cost.actual = undefined;
    record.cost.earlierAttemptMayBeBilled = false;
  }

  /** The follow-up returned images, or a stream that has ended, perhaps with an error. */
  mergeSuccess(): void {
    const { cost, images, parameters } = this.#record;
    const saved = this.#saved;
    this.#addAttempts();
    cost.actual =
      saved.cost === undefined || cost.actual === undefined ? undefined : saved.cost + cost.actual;
    parameters.adapted = union(saved.parameters.adapted, parameters.adapted);
    parameters.dropped = union(saved.parameters.dropped, parameters.dropped);
    images.missing = missingFrom([
      ...this.#followUp.unrecoverable,
      ...(images.missing?.groups ?? []),
    ]);
  }

  /** The follow-up failed. */
  mergeFailure(error: unknown, signal: AbortSignal): void {
    const record = this.#record;
    const { cost, usage, parameters, target } = this.#saved;
    const { count, unrecoverable } = this.#followUp;
    const newAttempts = this.#addAttempts();
    // Images that arrived and were unusable are billed too.
    const spent = record.cost.actual ?? 0;
    if (newAttempts > 0 && record.cost.actual === undefined && isBillingUncertain(error, signal)) {
      record.images.possiblyBilled += count;
    }
    record.usage = usage;
    record.parameters.adapted = parameters.adapted;
    record.parameters.dropped = parameters.dropped;
    record.routing.target = target;
    record.cost.actual = cost === undefined ? undefined : cost + spent;
    record.images.missing = missingFrom([...unrecoverable, { count, error }]);
  }

  /** Attempts for the missing images are counted separately from attempts for the whole request. */
  #addAttempts(): number {
    const record = this.#record;
    const newAttempts = initialAttempts(record) - this.#attempts;
    const { count, maybeBilled } = this.#followUp;
    record.images.fillAttempts += newAttempts;
    if (newAttempts > 0) record.images.requestedAgain += maybeBilled;
    if (record.cost.earlierAttemptMayBeBilled && newAttempts > 1) {
      record.images.possiblyBilled += (newAttempts - 1) * count;
      record.images.requestedAgain += (newAttempts - 1) * count;
    }
    record.cost.earlierAttemptMayBeBilled = this.#saved.earlierAttemptMayBeBilled;
    return newAttempts;
  }
}

const initialAttempts = ({ routing, images }: RequestRecord): number =>
  routing.attempts - images.fillAttempts;

const union = (
  before: readonly string[] | undefined,
  next: readonly string[] | undefined,
): readonly string[] => [...new Set([...(before ?? []), ...(next ?? [])])];
