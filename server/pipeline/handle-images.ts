/** A call for pictures: it costs money, so it may outlive its caller; and what it makes is large, so it may lie on disk. */

import { IdempotentRequest, neverAborted } from "../idempotency/idempotent-request.ts";
import { keepAlive } from "../images/keep-alive.ts";
import type { Settled } from "../ledger/ledger.ts";
import type { GatewayError } from "../lib/gateway-error.ts";
import { releaseAll } from "../lib/release-all.ts";
import { noRequestTemp } from "../lib/request-temp.ts";
import type { LimitedQuery } from "../limits/request-cost.ts";
import type { Route } from "../request/caller.ts";
import { clientClosedError } from "../request/deadline.ts";
import { type ErrorResponse, toErrorResponse } from "../request/error-response.ts";
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";
import { isChunked, isStreamed, joinChunks, lengthOf } from "../request/response-bodies.ts";
import { usageHeader } from "../upstream/adapters/openai/estimated-usage.ts";
import { mayHaveBeenBilled } from "../upstream/may-have-been-billed.ts";
import type { Read, WriteContext, Written } from "./endpoint.ts";
import { answered, Journey, jsonHeaders } from "./handle-request.ts";
import { told } from "./response-headers.ts";
import { begun, settled, steady } from "./stream-response.ts";

export class PictureJourney<Q extends LimitedQuery, A> extends Journey<Q, A> {
  #read: Read<Q> | undefined;
  /** What outlives the caller. */
  #keeping: IdempotentRequest | undefined;

  protected override take(read: Read<Q>): void {
    this.#read = read;
  }

  protected override proceed(query: Q, route: Route): Promise<OutgoingResponse> {
    const { keepAliveMs } = this.options;
    const outcome = this.#order(query, route).catch((thrown) => this.fail(thrown));
    const isQuiet = keepAliveMs > 0 && !("stream" in query && query.stream);
    return isQuiet ? keepAlive(outcome, keepAliveMs) : outcome;
  }

  /** Perhaps it was made already, and perhaps its caller leaves before it is done. */
  async #order(query: Q, route: Route): Promise<OutgoingResponse> {
    const { kept, onDisconnect, createTemp } = this.options;
    this.temp = createTemp(this.record.caller?.id ?? "");
    const keeping = new IdempotentRequest({
      store: kept,
      incoming: this.incoming,
      record: this.record,
      operation: this.endpoint.operation,
      query,
      finishOnDisconnect: (route.onDisconnect ?? onDisconnect) === "finish",
      retryPaid: route.retryPaid === true,
    });
    // Before the claim is made: from then on it is released with everything else.
    this.#keeping = keeping;
    const replayed = await keeping.claim();
    if (replayed) {
      this.record.cost.actual = 0;
      await this.#clearFiles();
      return answered(replayed.body, await this.settle(200), { ...replayed.headers });
    }
    // An image that cannot be stored is refused before it is paid for.
    this.temp.ensureRoom();
    return this.go(query, route);
  }

  protected override callerOf(incoming: IncomingRequest): () => AbortSignal {
    return this.#keeping?.finishesOnDisconnect ? () => neverAborted : () => incoming.signal;
  }

  protected override async handOver(answer: A, query: Q): Promise<OutgoingResponse> {
    const written = await this.endpoint.write(answer, query, () => this.#context());
    return written.kind === "whole" ? this.#whole(written) : this.#stream(written);
  }

  #context(): WriteContext {
    const { record, incoming, deadline } = this;
    const { now, links } = this.options;
    return {
      publicUrl: () => incoming.publicUrl,
      now: Math.floor(now() / 1000),
      links: links(deadline && this.#keeping?.replayContext(deadline.signal, this.temp)),
      target: () => record.routing.target,
      onDropped: (name) => {
        record.parameters.dropped = [...new Set([...(record.parameters.dropped ?? []), name])];
      },
    };
  }

  async #whole(written: Extract<Written, { kind: "whole" }>): Promise<OutgoingResponse> {
    const { body, usage, images, estimated } = written;
    const keeping = this.#keeping;
    this.record.usage = usage;
    this.record.images.delivered = images;
    this.record.outcome.bytesOut = lengthOf(body);
    const headers = told(this.record, jsonHeaders());
    if (estimated) headers[usageHeader] = "estimated";
    const left = keeping
      ? await keeping.storeResponse(isChunked(body) ? joinChunks(body) : body, { ...headers })
      : false;
    // Nobody takes the response, and a later request finds it in the idempotency store.
    if (left) throw clientClosedError();
    if (isStreamed(body)) {
      // The body is read from the temp storage while it is sent: until it is closed it owns the files of the request.
      let closed = false;
      const close = async (complete: boolean): Promise<void> => {
        if (closed) return;
        closed = true;
        if (!complete) await this.#attempt(() => keeping?.storeUndelivered(body, { ...headers }));
        await this.#clearFiles();
      };
      // A client that disconnects before the first byte never takes any, and so never closes the body.
      this.incoming.signal.addEventListener("abort", () => void close(false), { once: true });
      return answered({ ...body, close }, await this.settle(200), headers);
    }
    await this.#clearFiles();
    return answered(body, await this.settle(200), headers);
  }

  async #stream(written: Extract<Written, { kind: "stream" }>): Promise<OutgoingResponse> {
    const chunks = await steady(written.chunks, this.options.streamTimes);
    const headers = told(this.record, { ...eventStream });
    const settle = async (sent: number, failure?: GatewayError): Promise<Settled> => {
      const error = failure ?? (this.#keeping?.isDetached ? clientClosedError() : undefined);
      this.contain(() => {
        this.record.usage = written.usage();
        this.record.images.delivered = this.record.usage?.images;
      });
      this.record.outcome.bytesOut = sent;
      await this.#attempt(() => this.#keeping?.onStreamEnd(failure, this.record.usage?.images));
      return this.settle(error?.definition.status ?? 200, error);
    };
    const clear = () => this.#clearFiles();
    const body = begun(settled(chunks, { settle, clear }, this.deadline?.signal ?? neverAborted));
    return {
      status: 200,
      headers,
      body: this.#keeping?.recordStream(body, { ...headers }) ?? body,
    };
  }

  /** Clients try again by themselves, and a picture that may have been paid for is not ordered again unasked. */
  protected override refuse(error: GatewayError): ErrorResponse {
    return toErrorResponse(
      error,
      !this.route?.retryPaid && mayHaveBeenBilled(this.record.routing.attempts, error),
    );
  }

  protected override async release(error: GatewayError): Promise<void> {
    // Before the files: the fingerprint of an abandoned claim is read from them.
    await this.#attempt(() => this.#keeping?.release(error));
    await this.#clearFiles();
  }

  /** Uploads and temp storage. Safe to call more than once. Never rejects. */
  async #clearFiles(): Promise<void> {
    const { temp } = this;
    const read = this.#read;
    if (!read?.dispose && temp === noRequestTemp) return;
    await this.#attempt(() => releaseAll([() => read?.dispose?.(), () => temp.clear()]));
  }

  /** Like `contain`, for a release that takes a while. */
  async #attempt(release: () => Promise<void> | undefined): Promise<void> {
    try {
      await release();
    } catch (failure) {
      this.options.onDefect(this.record.requestId, failure);
    }
  }
}

const eventStream = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
} as const;
