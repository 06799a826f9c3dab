/** Writes the HTTP response of a request that succeeded: buffered, streamed, or replayed from the idempotency store. */
import { neverAborted, type ReplayedResponse } from "../idempotency/idempotent-request.ts";
import type { Settled } from "../ledger/ledger.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import type { StreamedJson } from "../lib/json-stream.ts";
import { ignoreRejection, startGenerator } from "../lib/tasks.ts";
import { clientClosedError } from "../request/deadline.ts";
import { joinDeviations } from "../request/deviations.ts";
import {
  type BodyChunks,
  joinChunks,
  type OutgoingResponse,
  type ResponseBody,
} from "../request/http-types.ts";
import type { RequestRecord } from "../request/request-record.ts";
import { usageHeader } from "../upstream/adapters/openai/images.ts";
import type { Deviations } from "../upstream/contract.ts";
import type { WrittenResponse } from "./endpoint.ts";
import type { RequestLifetime } from "./request-lifetime.ts";
import { type StreamTimes, settleAtEnd, withHeartbeats } from "./stream-response.ts";

type Buffered = Extract<WrittenResponse, { kind: "buffered" }>;
type Streamed = Extract<WrittenResponse, { kind: "stream" }>;

export function writeResponse(
  lifetime: RequestLifetime,
  written: WrittenResponse,
  streamTimes: StreamTimes,
): Promise<OutgoingResponse> {
  return written.kind === "buffered"
    ? writeBuffered(lifetime, written)
    : writeStream(lifetime, written, streamTimes);
}

/** The stored response of an identical request. It costs nothing. */
export async function writeReplay(
  lifetime: RequestLifetime,
  { headers, body }: ReplayedResponse,
): Promise<OutgoingResponse> {
  const { record } = lifetime;
  await lifetime.clearFiles();
  try {
    return ok(body, await lifetime.settle(200), { ...headers }, record);
  } catch (error) {
    // The ledger row could not be written, so the response is not sent. It stays replayable.
    await body.close(false);
    throw error;
  }
}

async function writeBuffered(
  lifetime: RequestLifetime,
  { body, usage, images, deviations, estimated }: Buffered,
): Promise<OutgoingResponse> {
  const { record, idempotent } = lifetime;
  record.usage = usage;
  record.images.delivered = images;
  if (deviations) record.deviations = withEarlier(record.deviations, deviations);
  record.outcome.bytesOut = lengthOf(body);
  const headers = addDeviations(record.deviations, { "content-type": "application/json" });
  if (estimated) headers[usageHeader] = "estimated";
  if (!idempotent) {
    // The images of an embeddings request are not part of its response.
    if (lifetime.hasFiles) await lifetime.clearFiles();
    if (!isStreamed(body)) return ok(body, await lifetime.settle(200), headers, record);
    // A streamed body is in memory until its last chunk is sent, and so is its reservation.
    let release = lifetime.takeMemory();
    const close = async (): Promise<void> => {
      release?.();
      release = undefined;
    };
    try {
      return ok({ ...body, close }, await lifetime.settle(200), headers, record);
    } catch (error) {
      await close();
      throw error;
    }
  }
  const stored = isChunked(body) ? joinChunks(body) : body;
  const isClientGone = await idempotent.storeResponse(stored, { ...headers });
  // The client has disconnected; a later request gets the response from the idempotency store.
  if (isClientGone) throw clientClosedError();
  if (!isStreamed(body)) {
    await lifetime.clearFiles();
    return ok(body, await lifetime.settle(200), headers, record);
  }
  const outcome = await lifetime.settle(200);
  // The body is read from temp storage while it is sent, so it owns the files of the request until it is closed: after
  // its last byte, or when the client disconnects, even before the first byte.
  const close = async (isComplete: boolean): Promise<void> => {
    if (!isComplete) {
      await lifetime.logIfRejects(() => idempotent.storeUndelivered(body, { ...headers }));
    }
    await lifetime.clearFiles();
  };
  lifetime.handOver();
  return ok({ ...body, close }, outcome, headers, record);
}

/** The stream settles the request before its last event, and clears the files after it. */
async function writeStream(
  lifetime: RequestLifetime,
  written: Streamed,
  streamTimes: StreamTimes,
): Promise<OutgoingResponse> {
  const { record, idempotent } = lifetime;
  const earlier = record.deviations;
  const chunks = await withHeartbeats(written.chunks, streamTimes);
  const settle = async (bytesSent: number, failure?: GatewayError): Promise<Settled> => {
    const error = failure ?? (idempotent?.isDetached ? clientClosedError() : undefined);
    lifetime.logIfThrows(() => {
      record.usage = written.usage();
      record.images.delivered = record.usage?.images;
      record.deviations = withEarlier(earlier, written.deviations());
    });
    record.outcome.bytesOut = bytesSent;
    await lifetime.logIfRejects(async () => idempotent?.onStreamEnd(failure, record.usage?.images));
    return lifetime.settle(error?.definition.status ?? 200, error);
  };
  const clear = () => lifetime.clearFiles();
  try {
    const headers = addDeviations(withEarlier(earlier, written.deviations()), {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
    });
    const clientError = (error: GatewayError): GatewayError => record.clientError(error);
    const ending = { settle, clientError, clear };
    const stream = settleAtEnd(chunks, ending, lifetime.signal ?? neverAborted);
    const body = idempotent?.recordStream(stream, { ...headers }) ?? stream;
    // The last step: until the stream starts, the pipeline releases everything that the request holds.
    lifetime.handOver();
    return { status: 200, headers, body: startGenerator(body) };
  } catch (error) {
    lifetime.cancelAtEnd();
    // Not awaited: the events end when their upstream request does.
    ignoreRejection(chunks[Symbol.asyncIterator]().return?.());
    throw error;
  }
}

const isStreamed = (body: ResponseBody): body is StreamedJson =>
  typeof body === "object" && "open" in body;

const isChunked = (body: ResponseBody): body is BodyChunks => Array.isArray(body);

/** The length of the body in bytes. */
function lengthOf(body: ResponseBody): number {
  if (isStreamed(body)) return body.length;
  if (!isChunked(body)) return Buffer.byteLength(body);
  let length = 0;
  for (const part of body) length += Buffer.byteLength(part);
  return length;
}

function ok(
  body: OutgoingResponse["body"],
  outcome: Settled,
  headers: Record<string, string>,
  record: RequestRecord,
): OutgoingResponse {
  const { caller, permittedModel, knownCost } = record;
  const isShown = caller?.showCost ?? permittedModel?.showCost;
  if (isShown && knownCost !== undefined) headers["vexel-cost"] = dollars(knownCost);
  if (outcome === "unsettled") headers["vexel-ledger"] = "unsettled";
  return { status: 200, headers, body };
}

/** US dollars without an exponent, which not every client reads. */
const dollars = (cost: number): string => cost.toFixed(12).replace(/\.?0+$/, "");

/** `earlier`: what the request lost before an upstream got it. */
const withEarlier = (earlier: Deviations, own: Deviations): Deviations =>
  earlier.dropped ? { ...own, ...joinDeviations(earlier, own) } : own;

/** Proxies refuse responses with long headers, and a client chooses the names of the fields it sends. */
const maxBytes = 1024;

/**
 * Adds the headers that name request fields which were not served as given: nothing is changed or left out in silence.
 * Returns `headers`.
 */
function addDeviations(
  { adapted, dropped, missing }: Deviations,
  headers: Record<string, string>,
): Record<string, string> {
  if (adapted?.length) headers["vexel-adapted"] = listNames(adapted);
  if (dropped?.length) headers["vexel-dropped"] = listNames(dropped);
  if (missing) headers["vexel-missing"] = `${missing.count}; error=${missing.kind}`;
  return headers;
}

/** The names, as many as fit; then how many more there are. */
function listNames(names: readonly string[]): string {
  let list = "";
  for (const [at, name] of names.entries()) {
    const extended = at === 0 ? name : `${list}, ${name}`;
    if (extended.length > maxBytes) {
      return at === 0
        ? `${names.length} ${names.length === 1 ? "field" : "fields"}`
        : `${list}, ... and ${names.length - at} more`;
    }
    list = extended;
  }
  return list;
}
