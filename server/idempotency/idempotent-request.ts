/** One paid call and its caller: whether it was made before, and what becomes of the answer when the caller is gone. */

import type { ReplayContext } from "../images/image-links.ts";
import type { AbortSignalLike } from "../lib/abort-signal.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { StreamedJson } from "../lib/json-stream.ts";
import type { RequestTemp } from "../lib/request-temp.ts";
import type { BodyChunk, IncomingRequest, StreamedBody } from "../request/http-types.ts";
import type { Operation } from "../request/operation.ts";
import type { RequestRecord } from "../request/request-record.ts";
import type { GenerationQuery } from "../upstream/contract.ts";
import { mayHaveBeenBilled } from "../upstream/may-have-been-billed.ts";
import { detachableStream } from "./detached-stream.ts";
import { fingerprintOf } from "./fingerprint.ts";
import type { IdempotencyStore } from "./idempotency-store.ts";
import type { InFlightRequest } from "./in-flight-request.ts";

export interface IdempotentRequestOptions {
  readonly store: IdempotencyStore;
  readonly incoming: IncomingRequest;
  readonly record: RequestRecord;
  readonly operation: Operation;
  readonly query: unknown;
  /** The call goes on when the caller leaves. */
  readonly finishOnDisconnect: boolean;
  /** What may have been paid for may be ordered again. */
  readonly retryPaid: boolean;
}

/** Of a caller who never leaves. */
export const neverAborted: AbortSignal = new AbortController().signal;

type Headers = Readonly<Record<string, string>>;

export interface ReplayedResponse {
  readonly headers: Headers;
  readonly body: StreamedBody;
}

export class IdempotentRequest {
  readonly #options: IdempotentRequestOptions;
  #claim: InFlightRequest | undefined;
  #abandoned: Promise<void> | undefined;
  /** Of a stream: its end is there, and pictures before it. */
  #isAnswer = false;
  /** Of a stream: how it ended otherwise. */
  #failure: GatewayError | undefined;

  constructor(options: IdempotentRequestOptions) {
    this.#options = options;
  }

  get finishesOnDisconnect(): boolean {
    return this.#options.finishOnDisconnect;
  }

  get isDetached(): boolean {
    return this.#abandoned !== undefined;
  }

  /** Of an answer that will be given again: it has a key, or its caller is gone. */
  replayContext(signal: AbortSignalLike, temp: RequestTemp): ReplayContext | undefined {
    const { target } = this.#options.record.routing;
    return target && (this.#claim?.hasIdempotencyKey || this.isDetached)
      ? { target, signal, temp }
      : undefined;
  }

  /** The answer, where the call was made before. */
  async claim(): Promise<ReplayedResponse | undefined> {
    const {
      store: kept,
      incoming,
      record,
      operation,
      query,
      finishOnDisconnect: finishes,
    } = this.#options;
    const { headers, signal, requestId } = incoming;
    const idempotencyKey = readIdempotencyKey(headers.get("idempotency-key"));
    const clientId = headers.get("x-client-request-id");
    const claimed = await kept.claim({
      owner: record.caller?.id ?? "",
      requestId,
      ...(idempotencyKey !== undefined && { idempotencyKey }),
      ...(clientId && { clientRequestId: clientId }),
      fingerprint: () => fingerprintOf(operation, query as GenerationQuery),
      signal,
    });
    if (claimed.kind === "replay") {
      const { answer } = claimed;
      record.addStep(`replayed: ${answer.requestId}`);
      record.outcome.bytesOut = answer.length;
      const from = { "idempotent-replayed": "true", "vexel-replayed-from": answer.requestId };
      const close = async (): Promise<void> => undefined;
      return { headers: { ...answer.headers, ...from }, body: { ...answer, close } };
    }
    if (claimed.kind === "failed") {
      record.addStep(`failed with: ${claimed.requestId}`);
      throw claimed.error;
    }
    this.#claim = claimed.claim;
    if (finishes) signal.addEventListener("abort", this.#onLeft, { once: true });
    return undefined;
  }

  /** An answer that is made is on its way: what becomes of it, whoever sends it knows. */
  readonly #onLeft = (): void => {
    if (!this.#claim?.isSettled) void this.#abandon();
  };

  /** Kept where it will be asked for again. True where the caller is gone, so that it need not be sent. */
  async storeResponse(
    body: string | Uint8Array | StreamedJson,
    headers: Headers,
  ): Promise<boolean> {
    const left = this.finishesOnDisconnect && this.#options.incoming.signal.aborted;
    if (left) await this.#abandon();
    if (left || this.#claim?.hasIdempotencyKey) await this.#keep(body, headers);
    else this.#claim?.settle();
    return left;
  }

  /** The caller left while it was sent. */
  async storeUndelivered(body: StreamedJson, headers: Headers): Promise<void> {
    if (!this.finishesOnDisconnect || this.#claim?.hasIdempotencyKey) return;
    await this.#abandon();
    await this.#keep(body, headers);
  }

  /** Everything that leaves, written down as it leaves, and worked on to its end when the caller is gone. */
  recordStream(body: AsyncIterable<BodyChunk>, headers: Headers): AsyncIterable<BodyChunk> {
    const claim = this.#claim;
    const { incoming } = this.#options;
    if (!claim || (!this.finishesOnDisconnect && !claim.hasIdempotencyKey)) return body;
    const { chunks: pieces } = detachableStream(body, {
      continueDetached: this.finishesOnDisconnect,
      onDetach: () => void this.#abandon(),
      onChunk: (piece) => claim.append(piece),
      onEnd: async () => {
        await this.#abandoned;
        if (this.#isAnswer && (claim.hasIdempotencyKey || this.isDetached))
          await claim.store(headers);
        else await claim.release(this.#forOthers(this.#failure));
      },
    });
    const iterator = pieces[Symbol.asyncIterator]();
    // Not every way of leaving ends the reading of a body.
    if (this.finishesOnDisconnect)
      incoming.signal.addEventListener("abort", () => void iterator.return?.());
    return { [Symbol.asyncIterator]: () => iterator };
  }

  /**
   * Before the files of the call are cleared away. Pictures that came before a failure are paid for: with the failure at
   * its end the stream is an answer, unless it was cut off because nobody reads it.
   */
  async onStreamEnd(failure: GatewayError | undefined, pictures = 0): Promise<void> {
    this.#isAnswer = failure === undefined || (pictures > 0 && failure.kind !== "client_closed");
    this.#failure = failure;
    await this.#abandoned;
    // The last piece is yet to leave, and with it the caller may.
    if (this.finishesOnDisconnect && this.#isAnswer) await this.#claim?.computeFingerprint();
  }

  async release(failure: GatewayError): Promise<void> {
    await this.#abandoned;
    await this.#claim?.release(this.#forOthers(failure));
  }

  /**
   * What those are told who wait for a call that failed. They are as one caller: what may have been paid for is not ordered
   * again by the next of them, and what cannot succeed is not tried. A caller who left has nothing to tell.
   */
  #forOthers(failure: GatewayError | undefined): GatewayError | undefined {
    if (!failure || failure.kind === "client_closed") return undefined;
    const { record, retryPaid } = this.#options;
    const isPaid = !retryPaid && mayHaveBeenBilled(record.routing.attempts, failure);
    return isPaid || failure.definition.retry === "never" ? failure : undefined;
  }

  #abandon(): Promise<void> {
    this.#abandoned ??= this.#claim?.detach() ?? Promise.resolve();
    return this.#abandoned;
  }

  async #keep(body: string | Uint8Array | StreamedJson, headers: Headers): Promise<void> {
    await this.#claim?.appendAll(body);
    await this.#claim?.store(headers);
    this.#options.record.addStep("answer kept");
  }
}

function readIdempotencyKey(key: string | null): string | undefined {
  if (key === null) return undefined;
  if (/^[\x20-\x7e]{1,255}$/.test(key) && key.trim() !== "") return key;
  throw new GatewayError(
    "invalid_idempotency_key",
    "Invalid 'Idempotency-Key': it must be 1 to 255 printable characters of ASCII.",
    { param: "Idempotency-Key" },
  );
}
