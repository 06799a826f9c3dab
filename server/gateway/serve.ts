/** The whole journey. Read this first; every step is one file beside it. */
import type { GatewayError } from "../std/gateway-error.ts";
import { noScratch } from "../std/scratch.ts";
import type { Settled } from "../usage/ledger.ts";
import type { Pass } from "./admission.ts";
import { authenticate } from "./authenticate.ts";
import { isInParts, isStreamed, joined, lengthOf } from "./bodies.ts";
import { type Deadline, hungUp } from "./deadline.ts";
import { type Asked, wasAsked } from "./demand.ts";
import type { Endpoint, Read, Written } from "./endpoint.ts";
import { InHand, type Standing } from "./in-hand.ts";
import type { Incoming, Outgoing } from "./incoming.ts";
import { stayAlive } from "./keep-alive.ts";
import { Keeping, never } from "./keeping.ts";
import { mayHaveBeenPaid } from "./may-be-paid.ts";
import { type Refusal, refuse, toFault } from "./refuse.ts";
import { type Route, resolve } from "./resolve.ts";
import type { ServeOptions } from "./serve-options.ts";
import type { Send } from "./stages/stage.ts";
import { begun, settled, steady } from "./stream.ts";
import { told } from "./told.ts";
import { Trip } from "./trip.ts";
import { vectorsCost } from "./vectors-cost.ts";

export type Serve = <Q extends Asked, A>(
  endpoint: Endpoint<Q, A>,
  send: Send<Q, A>,
  incoming: Incoming,
) => Promise<Outgoing>;

export function createServe(options: ServeOptions): { serve: Serve; inHand: () => number } {
  const { admission, maxConcurrent } = options;
  const inHand = new InHand({ ...maxConcurrent, shed: (mayLose) => admission.shed(mayLose) });
  return {
    serve: (endpoint, send, incoming) =>
      new Journey(options, inHand, endpoint, send, incoming).travel(),
    inHand: () => inHand.count,
  };
}

class Journey<Q extends Asked, A> {
  readonly #options: ServeOptions;
  readonly #inHand: InHand;
  readonly #endpoint: Endpoint<Q, A>;
  readonly #send: Send<Q, A>;
  readonly #incoming: Incoming;
  readonly #started: number;
  readonly #trip: Trip;
  #standing: Standing = "plain";
  #read: Read<Q> | undefined;
  #route: Route | undefined;
  /** Where there are limits. */
  #pass: Pass | undefined;
  #deadline: Deadline | undefined;
  #scratch = noScratch;
  /** Of calls that cost money: what outlives the caller. */
  #keeping: Keeping | undefined;

  constructor(
    options: ServeOptions,
    inHand: InHand,
    endpoint: Endpoint<Q, A>,
    send: Send<Q, A>,
    incoming: Incoming,
  ) {
    this.#options = options;
    this.#inHand = inHand;
    this.#endpoint = endpoint;
    this.#send = send;
    this.#incoming = incoming;
    this.#started = options.clock();
    this.#trip = new Trip(incoming.requestId, endpoint.operation, options.now());
    inHand.begin(endpoint.kind);
  }

  async travel(): Promise<Outgoing> {
    try {
      const options = this.#options;
      const snapshot = options.snapshot(); // pinned: a reload never changes a request half-way
      options.ledger.admit(); // before anything that would need a row
      const { headers } = this.#incoming;
      const caller = authenticate(headers, snapshot, options.now());
      this.#standing = this.#inHand.admit(this.#endpoint.kind, headers, caller.id);
      this.#trip.knownOnly = this.#standing === "looking";
      this.#trip.caller = caller;
      const reading = this.#endpoint.read(this.#incoming);
      // What is there already is not waited for, here and below: each wait costs as much as a step of the journey.
      const read = reading instanceof Promise ? await reading : reading;
      this.#read = read;
      // Not as it came: what is no model of ours may be anything, a key or a prompt among it.
      this.#trip.model = snapshot.models.get(read.query.model)?.id;
      const route = resolve(read.query.model, this.#endpoint.kind, caller, snapshot);
      this.#route = route;
      if (this.#endpoint.kind === "embedding")
        return this.#limited(await this.#go(read.query, route));
      const outcome = this.#pay(read.query, route).catch((thrown) => this.#fail(thrown));
      const quiet = options.keepAliveMs > 0 && !("stream" in read.query && read.query.stream);
      return this.#limited(await (quiet ? stayAlive(outcome, options.keepAliveMs) : outcome));
    } catch (thrown) {
      return this.#limited(await this.#fail(thrown));
    }
  }

  /** A call that costs money: perhaps it was made already, and perhaps its caller leaves before it is done. */
  async #pay(query: Q, route: Route): Promise<Outgoing> {
    const { kept, onDisconnect, scratch } = this.#options;
    this.#scratch = scratch();
    const keeping = new Keeping({
      kept,
      incoming: this.#incoming,
      trip: this.#trip,
      operation: this.#endpoint.operation,
      query,
      finishes: (route.onDisconnect ?? onDisconnect) === "finish",
      retryPaid: route.retryPaid === true,
    });
    const replayed = await keeping.claim();
    if (replayed) {
      this.#trip.cost = 0;
      await this.#clearAway();
      return this.#answered(replayed.body, await this.#settle(200), { ...replayed.headers });
    }
    this.#keeping = keeping;
    return this.#go(query, route);
  }

  async #go(query: Q, route: Route): Promise<Outgoing> {
    const { startDeadline, timeoutMs, now, links, spending } = this.#options;
    const { operation, kind } = this.#endpoint;
    const incoming = this.#incoming;
    if (route.scopes || this.#trip.caller?.scopes || kind === "image") {
      const entering = this.#enter(query, route);
      this.#pass = entering instanceof Promise ? await entering : entering;
    }
    let waitedMs = this.#pass?.waitedMs ?? 0;
    // After the wait: whoever only waits holds no money that others could spend.
    if (this.#trip.caller?.budgets) {
      const holding = spending.begin(operation, query, route, this.#trip, incoming);
      if (holding) waitedMs += await holding;
    }
    const ms = (route.timeoutMs ?? timeoutMs[kind]) - Math.round(waitedMs);
    const deadline = startDeadline(
      this.#keeping?.finishes ? () => never : () => incoming.signal,
      ms,
    );
    this.#deadline = deadline;
    const answer = await this.#send({
      operation,
      query,
      route,
      signal: deadline.signal,
      scratch: this.#scratch,
      trip: this.#trip,
    });
    if (kind === "embedding") this.#trip.cost = vectorsCost(this.#trip, route.targets);
    const writing = this.#endpoint.write(answer, query, {
      publicUrl: () => incoming.publicUrl,
      now: Math.floor(now() / 1000),
      links: links(this.#keeping?.again(deadline.signal, this.#scratch)),
      onDropped: (name) => {
        this.#trip.dropped = [...new Set([...(this.#trip.dropped ?? []), name])];
      },
    });
    const written = writing instanceof Promise ? await writing : writing;
    return await (written.kind === "whole"
      ? this.#whole(written)
      : this.#stream(written, deadline));
  }

  /** Nothing was asked of anyone yet: who finds no room has lost nothing. */
  #enter(query: Q, route: Route): Pass | Promise<Pass> | undefined {
    const { caller } = this.#trip;
    const signal = (): AbortSignal => this.#incoming.signal;
    return caller && this.#options.admission.enter({ caller, route, query, signal });
  }

  async #whole({ body, usage }: Extract<Written, { kind: "whole" }>): Promise<Outgoing> {
    const keeping = this.#keeping;
    this.#trip.usage = usage;
    this.#trip.bytesOut = lengthOf(body);
    const headers = told(this.#trip, json());
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
      this.#incoming.signal.addEventListener("abort", () => void close(false), { once: true });
      return this.#answered({ ...body, close }, await this.#settle(200), headers);
    }
    if (this.#read?.dispose || this.#scratch !== noScratch) await this.#clearAway();
    return this.#answered(body, await this.#settle(200), headers);
  }

  async #stream(
    written: Extract<Written, { kind: "stream" }>,
    { signal }: Deadline,
  ): Promise<Outgoing> {
    const chunks = await steady(written.chunks, this.#options.streamTimes);
    const headers = told(this.#trip, { ...eventStream });
    const settle = async (sent: number, failure?: GatewayError): Promise<Settled> => {
      const error = failure ?? (this.#keeping?.isLeft ? hungUp() : undefined);
      this.#trip.usage = written.usage();
      this.#trip.bytesOut = sent;
      await this.#keeping?.streamEnds(failure, this.#trip.usage?.images);
      return this.#settle(error?.row.status ?? 200, error);
    };
    const clear = () => this.#clearAway();
    const body = begun(settled(chunks, { settle, clear }, signal));
    return { status: 200, headers, body: this.#keeping?.stream(body, { ...headers }) ?? body };
  }

  async #fail(thrown: unknown): Promise<Outgoing> {
    // Settling is what failed: the ledger keeps the row, the caller hears of it.
    if (this.#trip.status !== 0) return this.#refuse(toFault(thrown, undefined));
    const error = toFault(thrown, this.#deadline?.signal);
    const refusal = this.#refuse(error);
    // Whoever has hung up gets nothing.
    this.#trip.bytesOut = error.fault === "client_closed" ? 0 : Buffer.byteLength(refusal.body);
    await this.#keeping?.release(error);
    await this.#clearAway();
    try {
      await this.#settle(refusal.status, error);
    } catch {
      // The ledger keeps the row; this caller is refused already.
    }
    return refusal;
  }

  /** Clients try again by themselves, and a picture that may have been paid for is not ordered again unasked. */
  #refuse(error: GatewayError): Refusal {
    const once = this.#endpoint.kind === "image" && !this.#route?.retryPaid;
    return refuse(error, once && mayHaveBeenPaid(this.#trip.attempts, error));
  }

  /** The end of every journey, good or bad: write the row, then tell. */
  async #settle(status: number, error?: GatewayError): Promise<Settled> {
    const { clock, ledger, report, spending } = this.#options;
    const trip = this.#trip;
    this.#deadline?.end();
    trip.status = status;
    trip.fault = error?.fault;
    trip.latencyMs = clock() - this.#started;
    trip.bytesIn = this.#incoming.bytesReceived;
    try {
      if (trip.reservation) spending.end(trip, error);
      return trip.caller ? await ledger.settle(trip.row(trip.caller)) : "settled";
    } finally {
      this.#pass?.leave({ usage: trip.usage, asked: wasAsked(trip, error), error });
      trip.over();
      this.#inHand.end(this.#endpoint.kind, this.#standing, trip.caller?.id);
      report(trip, error);
    }
  }

  /** With what is left of the caller's limits. */
  #limited(outgoing: Outgoing): Outgoing {
    const { caller } = this.#trip;
    if (!caller || !(caller.scopes || this.#route?.scopes)) return outgoing;
    this.#options.admission.tell(caller, this.#route, outgoing.headers);
    return outgoing;
  }

  /** A file that will not go away must take neither the answer nor the row with it. */
  async #clearAway(): Promise<void> {
    try {
      await Promise.all([this.#read?.dispose?.(), this.#scratch.clear()]);
    } catch (error) {
      this.#options.onDefect(this.#trip.requestId, error);
    }
  }

  #answered(body: Outgoing["body"], outcome: Settled, headers: Record<string, string>): Outgoing {
    if (outcome === "unsettled") headers["vexel-ledger"] = "unsettled";
    return { status: 200, headers, body };
  }
}

/** Each answer's own: others add to it. */
const json = (): Record<string, string> => ({ "content-type": "application/json" });
const eventStream = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-cache",
} as const;
