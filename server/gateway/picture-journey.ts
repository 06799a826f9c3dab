/** A call for pictures: it costs money, so it may outlive its caller; and what it makes is large, so it may lie on disk. */
import type { GatewayError } from "../std/gateway-error.ts";
import { noScratch } from "../std/scratch.ts";
import { usageHeader } from "../upstream/adapters/openai/estimated-usage.ts";
import type { Settled } from "../usage/ledger.ts";
import { isInParts, isStreamed, joined, lengthOf } from "./bodies.ts";
import { hungUp } from "./deadline.ts";
import type { Asked } from "./demand.ts";
import type { Read, WriteContext, Written } from "./endpoint.ts";
import type { Incoming, Outgoing } from "./incoming.ts";
import { answered, Journey, jsonHeaders } from "./journey.ts";
import { stayAlive } from "./keep-alive.ts";
import { Keeping, never } from "./keeping.ts";
import { mayHaveBeenPaid } from "./may-be-paid.ts";
import { type Refusal, refuse } from "./refuse.ts";
import type { Route } from "./resolve.ts";
import { begun, settled, steady } from "./stream.ts";
import { told } from "./told.ts";

export class PictureJourney<Q extends Asked, A> extends Journey<Q, A> {
  #read: Read<Q> | undefined;
  /** What outlives the caller. */
  #keeping: Keeping | undefined;

  protected override take(read: Read<Q>): void {
    this.#read = read;
  }

  protected override proceed(query: Q, route: Route): Promise<Outgoing> {
    const { keepAliveMs } = this.options;
    const outcome = this.#order(query, route).catch((thrown) => this.fail(thrown));
    const isQuiet = keepAliveMs > 0 && !("stream" in query && query.stream);
    return isQuiet ? stayAlive(outcome, keepAliveMs) : outcome;
  }

  /** Perhaps it was made already, and perhaps its caller leaves before it is done. */
  async #order(query: Q, route: Route): Promise<Outgoing> {
    const { kept, onDisconnect, scratch } = this.options;
    this.scratch = scratch(this.trip.caller?.id ?? "");
    const keeping = new Keeping({
      kept,
      incoming: this.incoming,
      trip: this.trip,
      operation: this.endpoint.operation,
      query,
      finishes: (route.onDisconnect ?? onDisconnect) === "finish",
      retryPaid: route.retryPaid === true,
    });
    const replayed = await keeping.claim();
    if (replayed) {
      this.trip.cost = 0;
      await this.#clearAway();
      return answered(replayed.body, await this.settle(200), { ...replayed.headers });
    }
    this.#keeping = keeping;
    return this.go(query, route);
  }

  protected override callerOf(incoming: Incoming): () => AbortSignal {
    return this.#keeping?.finishes ? () => never : () => incoming.signal;
  }

  protected override async handOver(answer: A, query: Q): Promise<Outgoing> {
    const written = await this.endpoint.write(answer, query, () => this.#context());
    return written.kind === "whole" ? this.#whole(written) : this.#stream(written);
  }

  #context(): WriteContext {
    const { trip, incoming, deadline } = this;
    const { now, links } = this.options;
    return {
      publicUrl: () => incoming.publicUrl,
      now: Math.floor(now() / 1000),
      links: links(deadline && this.#keeping?.again(deadline.signal, this.scratch)),
      target: () => trip.target,
      onDropped: (name) => {
        trip.dropped = [...new Set([...(trip.dropped ?? []), name])];
      },
    };
  }

  async #whole({ body, usage, estimated }: Extract<Written, { kind: "whole" }>): Promise<Outgoing> {
    const keeping = this.#keeping;
    this.trip.usage = usage;
    this.trip.bytesOut = lengthOf(body);
    const headers = told(this.trip, jsonHeaders());
    if (estimated) headers[usageHeader] = "estimated";
    const left = keeping
      ? await keeping.keepWhole(isInParts(body) ? joined(body) : body, { ...headers })
      : false;
    // What lies on disk is read while it leaves; everything else is done with.
    if (left) {
      await this.#clearAway();
      throw hungUp();
    }
    if (isStreamed(body)) {
      let closed = false;
      const close = async (complete: boolean): Promise<void> => {
        if (closed) return;
        closed = true;
        if (!complete) await keeping?.keepUndelivered(body, { ...headers });
        await this.#clearAway();
      };
      // A caller who left before the first byte never takes any, and so never lets go.
      this.incoming.signal.addEventListener("abort", () => void close(false), { once: true });
      return answered({ ...body, close }, await this.settle(200), headers);
    }
    await this.#clearAway();
    return answered(body, await this.settle(200), headers);
  }

  async #stream(written: Extract<Written, { kind: "stream" }>): Promise<Outgoing> {
    const chunks = await steady(written.chunks, this.options.streamTimes);
    const headers = told(this.trip, { ...eventStream });
    const settle = async (sent: number, failure?: GatewayError): Promise<Settled> => {
      const error = failure ?? (this.#keeping?.isLeft ? hungUp() : undefined);
      this.trip.usage = written.usage();
      this.trip.bytesOut = sent;
      await this.#keeping?.streamEnds(failure, this.trip.usage?.images);
      return this.settle(error?.row.status ?? 200, error);
    };
    const clear = () => this.#clearAway();
    const body = begun(settled(chunks, { settle, clear }, this.deadline?.signal ?? never));
    return { status: 200, headers, body: this.#keeping?.stream(body, { ...headers }) ?? body };
  }

  /** Clients try again by themselves, and a picture that may have been paid for is not ordered again unasked. */
  protected override refuse(error: GatewayError): Refusal {
    return refuse(error, !this.route?.retryPaid && mayHaveBeenPaid(this.trip.attempts, error));
  }

  protected override async letGo(error: GatewayError): Promise<void> {
    await this.#keeping?.release(error);
    await this.#clearAway();
  }

  /** A file that will not go away must take neither the answer nor the row with it. */
  async #clearAway(): Promise<void> {
    if (!this.#read?.dispose && this.scratch === noScratch) return;
    try {
      await Promise.all([this.#read?.dispose?.(), this.scratch.clear()]);
    } catch (error) {
      this.options.onDefect(this.trip.requestId, error);
    }
  }
}

const eventStream = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
} as const;
