/**
 * Idempotency of one image request: replays the response of an earlier request with the same request fingerprint,
 * records the response of this one, and lets it finish after the client has disconnected.
 */
import { createHash, type Hash } from "node:crypto";
import type { ReplayContext } from "../images/image-links.ts";
import { viewOf } from "../lib/borrowed-bytes.ts";
import { detachableStream } from "../lib/detachable-stream.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { StreamedJson } from "../lib/json-stream.ts";
import { areLargeExtraFields } from "../lib/large-json.ts";
import type { IncomingRequest, StreamChunk, StreamedResponseBody } from "../request/http-types.ts";
import { openBody } from "../request/open-body.ts";
import type { Operation } from "../request/operation.ts";
import type { RequestRecord } from "../request/request-record.ts";
import type { RequestTemp } from "../temp-storage/request-temp.ts";
import type { EditQuery, FilePart, GenerationQuery, ImageSource } from "../upstream/contract.ts";
import { editSources } from "../upstream/edit-sources.ts";
import { mayHaveBeenBilled } from "../upstream/may-have-been-billed.ts";
import type { IdempotencyStore } from "./idempotency-store.ts";
import { type InFlightRequest, responseNotStored } from "./in-flight-request.ts";

interface IdempotentRequestOptions {
  readonly store: IdempotencyStore;
  readonly incoming: IncomingRequest;
  readonly record: RequestRecord;
  readonly query: unknown;
  /** The request continues after the client disconnects. */
  readonly finishOnDisconnect: boolean;
  /** The model has `retryPaid: true`: images that may have been billed may be requested again. */
  readonly retryPaid: boolean;
}

/** The signal of a request that continues after the client disconnects. */
export const neverAborted: AbortSignal = new AbortController().signal;

type Headers = Readonly<Record<string, string>>;

export interface ReplayedResponse {
  readonly headers: Headers;
  readonly body: StreamedResponseBody;
}

export class IdempotentRequest {
  readonly #options: IdempotentRequestOptions;
  #request: InFlightRequest | undefined;
  #detached: Promise<void> | undefined;
  /** The stream has ended, and may be replayed. */
  #isReplayable = false;
  /** The error that the stream ended with. */
  #failure: GatewayError | undefined;

  constructor(options: IdempotentRequestOptions) {
    this.#options = options;
  }

  get finishesOnDisconnect(): boolean {
    return this.#options.finishOnDisconnect;
  }

  get isDetached(): boolean {
    return this.#detached !== undefined;
  }

  /**
   * Defined if the response will be read later: the request has an Idempotency-Key, its client has disconnected, or it
   * is a line of a job.
   */
  replayContext(signal: AbortSignal, temp: RequestTemp): ReplayContext | undefined {
    const { record, incoming } = this.#options;
    const { target } = record.routing;
    const isJob = incoming.line !== undefined;
    const willBeRead = this.#request?.hasIdempotencyKey || this.isDetached || isJob;
    return target && willBeRead ? { target, signal, temp, isJob } : undefined;
  }

  /** Returns the stored response of an earlier identical request, if there is one. */
  async claim(): Promise<ReplayedResponse | undefined> {
    const { store, incoming, record, query } = this.#options;
    const { headers, signal, requestId } = incoming;
    const idempotencyKey = readIdempotencyKey(headers.get("idempotency-key"));
    const clientRequestId = headers.get("x-client-request-id");
    const claim = await store.claim({
      owner: record.caller?.id ?? "",
      requestId,
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      ...(clientRequestId && { clientRequestId }),
      fingerprint: async () =>
        incoming.line?.fingerprint ?? fingerprintOf(record.endpoint, query as GenerationQuery),
      signal,
    });
    if (claim.kind === "replay") {
      const { response, endDelivery } = claim;
      const body = await openBody({
        ...response,
        close: async (isComplete) => endDelivery(isComplete),
      });
      record.addStep("replayed", { request: response.requestId });
      record.outcome.bytesOut = response.length;
      return {
        headers: {
          ...response.headers,
          "idempotent-replayed": "true",
          "vexel-replayed-from": response.requestId,
        },
        body,
      };
    }
    if (claim.kind === "failed") {
      record.addStep("failed_with", { request: claim.requestId });
      throw claim.error;
    }
    this.#request = claim.request;
    if (this.finishesOnDisconnect) {
      signal.addEventListener("abort", this.#onDisconnect, { once: true });
    }
    return undefined;
  }

  /** Once the response is complete, the code that sends it handles a disconnect (storeResponse, storeUndelivered). */
  readonly #onDisconnect = (): void => {
    if (!this.#request?.isSettled) void this.#detach();
  };

  /** Stores the response if it may be requested again. True if the client has disconnected, so that it is not sent. */
  async storeResponse(
    body: string | Uint8Array | StreamedJson,
    headers: Headers,
  ): Promise<boolean> {
    const disconnected = this.finishesOnDisconnect && this.#options.incoming.signal.aborted;
    if (disconnected) await this.#detach();
    if (disconnected || this.#request?.hasIdempotencyKey) await this.#store(body, headers);
    else this.#request?.settle();
    this.#stopListening();
    return disconnected;
  }

  /** The client disconnected while the response was sent. */
  async storeUndelivered(body: StreamedJson, headers: Headers): Promise<void> {
    if (!this.finishesOnDisconnect || this.#request?.hasIdempotencyKey) return;
    await this.#detach();
    try {
      await this.#store(body, headers);
    } catch (error) {
      // The body cannot be read again. Identical requests may wait for this one since `#detach` registered it.
      await this.#request?.release(responseNotStored());
      throw error;
    }
  }

  /** Records a stream while it is sent, and reads it to its end if the client disconnects. */
  recordStream(body: AsyncIterable<StreamChunk>, headers: Headers): AsyncIterable<StreamChunk> {
    const request = this.#request;
    if (!request || (!this.finishesOnDisconnect && !request.hasIdempotencyKey)) return body;
    return detachableStream(body, {
      continueDetached: this.finishesOnDisconnect,
      onDetach: () => void this.#detach(),
      onChunk: (chunk) => request.append(chunk),
      onEnd: async () => {
        await this.#detached;
        const willBeReplayed = request.hasIdempotencyKey || this.isDetached;
        if (this.#isReplayable && willBeReplayed) await request.store(headers);
        else await this.#releaseClaim(this.#failure);
        this.#stopListening();
      },
    });
  }

  /**
   * Called before the files of the request are deleted. Images that were sent before an error are billed: the stream,
   * with the error at its end, is then a response that can be replayed, unless it was canceled because the client
   * disconnected.
   */
  async onStreamEnd(failure: GatewayError | undefined, images = 0): Promise<void> {
    this.#isReplayable = failure === undefined || (images > 0 && failure.kind !== "client_closed");
    this.#failure = failure;
    await this.#detached;
    // Before the ledger row is written: afterwards the gateway closes its storage.
    if (failure?.kind === "shutting_down" && !this.#isReplayable) await this.#releaseClaim(failure);
    // The last chunk is not sent yet, and the client may disconnect before it is.
    if (this.finishesOnDisconnect && this.#isReplayable) await this.#request?.computeFingerprint();
  }

  async release(failure: GatewayError): Promise<void> {
    await this.#detached;
    await this.#releaseClaim(failure);
    this.#stopListening();
  }

  async #releaseClaim(failure: GatewayError | undefined): Promise<void> {
    const forWaiters = this.#failureForWaiters(failure);
    const mustAbandon = forWaiters?.kind === "shutting_down" && this.#request?.hasIdempotencyKey;
    if (mustAbandon) await this.#request?.abandon(forWaiters);
    else await this.#request?.release(forWaiters);
  }

  #stopListening(): void {
    if (!this.finishesOnDisconnect) return;
    this.#options.incoming.signal.removeEventListener("abort", this.#onDisconnect);
  }

  /**
   * The error that concurrent duplicates get when the request they wait for fails. None of them sends a request
   * again that may have been billed or that cannot succeed. A client disconnect is no error for the others.
   */
  #failureForWaiters(failure: GatewayError | undefined): GatewayError | undefined {
    if (!failure || failure.kind === "client_closed") return undefined;
    const { record, retryPaid } = this.#options;
    const neverRetry = !retryPaid && mayHaveBeenBilled(record.routing.attempts, failure);
    return neverRetry || failure.definition.retry === "never" ? failure : undefined;
  }

  #detach(): Promise<void> {
    this.#detached ??= this.#request?.detach() ?? Promise.resolve();
    return this.#detached;
  }

  async #store(body: string | Uint8Array | StreamedJson, headers: Headers): Promise<void> {
    await this.#request?.appendAll(body);
    await this.#request?.store(headers);
    this.#options.record.addStep("stored");
  }
}

export function readIdempotencyKey(key: string | null): string | undefined {
  if (key === null) return undefined;
  if (/^[\x20-\x7e]{1,255}$/.test(key) && key.trim() !== "") return key;
  throw new GatewayError(
    "invalid_idempotency_key",
    "Invalid 'Idempotency-Key': expected 1 to 255 printable ASCII characters that are not all spaces.",
    { param: "Idempotency-Key" },
  );
}

/**
 * A hash of every field of an image request and every byte of every file. The order of the fields does not matter,
 * unless the extra fields are large.
 */
export async function fingerprintOf(
  operation: Operation,
  query: GenerationQuery | EditQuery,
): Promise<string> {
  const hash = createHash("sha256");
  const { model, prompt, stream, options, extraFields } = query;
  // Sorting large extra fields would block the event loop. A client that repeats a request sends them in the same
  // order.
  const extra = areLargeExtraFields(extraFields) ? extraFields : sortFields(extraFields);
  hash.update(JSON.stringify([operation, model, prompt, stream, sortFields(options), extra]));
  if ("images" in query) {
    const { images, mask, markup, files } = query;
    for (const source of editSources(query)) await addSource(hash, source);
    const roles = [images.length, mask !== undefined, ...(markup ? ["markup"] : [])];
    hash.update(JSON.stringify(roles));
    for (const file of files) await addFile(hash, file);
  }
  return hash.digest("hex");
}

async function addSource(hash: Hash, source: ImageSource): Promise<void> {
  if (source.kind === "file") return addFile(hash, source.file);
  hash.update(JSON.stringify(source));
}

async function addFile(hash: Hash, file: FilePart): Promise<void> {
  hash.update(JSON.stringify([file.field.replace(/\[.*$/, ""), file.size]));
  for await (const chunk of file.stream()) hash.update(viewOf(chunk));
}

/** Sorts members by name at every depth: their order in a request has no meaning. */
function sortFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortFields);
  if (typeof value !== "object" || value === null) return value;
  return Object.entries(value)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, entry]) => [name, sortFields(entry)]);
}
