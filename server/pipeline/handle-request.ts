/**
 * The whole journey of a call. Read this first; every step is one file beside it. What is there already is not waited for:
 * each wait costs as much as a step, and a known vector has nothing to wait for but its row.
 */

import { authenticate } from "../auth/authenticate.ts";
import { defaultModel } from "../auth/default-model.ts";
import { resolveModel } from "../auth/resolve-model.ts";
import type { Settled } from "../ledger/ledger.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { noRequestTemp, type RequestTemp } from "../lib/request-temp.ts";
import type { AdmissionTicket } from "../limits/admission.ts";
import type { LoadShedder, SheddingDecision } from "../limits/load-shedder.ts";
import { type LimitedQuery, reachedUpstream } from "../limits/request-cost.ts";
import type { Route } from "../request/caller.ts";
import type { Deadline } from "../request/deadline.ts";
import { type ErrorResponse, toErrorResponse, toGatewayError } from "../request/error-response.ts";
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";
import { RequestRecord } from "../request/request-record.ts";
import type { Answering } from "../request/stage.ts";
import type { Endpoint, Read } from "./endpoint.ts";
import type { ServeOptions } from "./serve-options.ts";

export abstract class Journey<Q extends LimitedQuery, A> {
  protected readonly options: ServeOptions;
  protected readonly endpoint: Endpoint<Q, A>;
  protected readonly incoming: IncomingRequest;
  protected readonly record: RequestRecord;
  protected route: Route | undefined;
  protected deadline: Deadline | undefined;
  /** Where large things lie until the call is over. */
  protected temp: RequestTemp = noRequestTemp;
  readonly #inHand: LoadShedder;
  readonly #send: Answering<Q, A>;
  readonly #started: number;
  /** The model in the request path, which wins over that in the body. */
  readonly #pathModel: string | undefined;
  #sheddingDecision: SheddingDecision = "uncounted";
  /** Where there are limits. */
  #pass: AdmissionTicket | undefined;
  /** Set once the request is over. */
  #settling: Promise<Settled> | undefined;

  constructor(
    options: ServeOptions,
    inHand: LoadShedder,
    endpoint: Endpoint<Q, A>,
    send: Answering<Q, A>,
    incoming: IncomingRequest,
    pathModel?: string,
  ) {
    this.options = options;
    this.#inHand = inHand;
    this.endpoint = endpoint;
    this.#send = send;
    this.incoming = incoming;
    this.#pathModel = pathModel;
    this.#started = options.clock();
    this.record = new RequestRecord(incoming.requestId, endpoint.operation, options.now());
    inHand.begin(endpoint.kind);
  }

  async travel(): Promise<OutgoingResponse> {
    try {
      const { options, endpoint, incoming, record } = this;
      const snapshot = options.snapshot(); // pinned: a reload never changes a request half-way
      options.ledger.admit(); // before anything that would need a row
      const caller = authenticate(incoming.headers, snapshot, options.now());
      this.#sheddingDecision = this.#inHand.admit(endpoint.kind, incoming.headers, caller.id);
      record.cacheOnly = this.#sheddingDecision === "cache-only";
      record.caller = caller;
      const reading = endpoint.read(incoming, caller.id, (given) => {
        if (this.#pathModel !== undefined) return this.#pathModel;
        const isAbsent = given === undefined || given === "";
        return isAbsent ? defaultModel(endpoint.kind, caller, snapshot) : given;
      });
      const read = reading instanceof Promise ? await reading : reading;
      const { query } = read;
      // Not as it came: what is no model of ours may be anything, a key or a prompt among it.
      record.model = snapshot.models.get(query.model)?.id;
      this.take(read);
      const route = resolveModel(query.model, endpoint.kind, caller, snapshot);
      this.route = route;
      return this.#limited(await this.proceed(query, route));
    } catch (thrown) {
      return this.#limited(await this.fail(thrown));
    }
  }

  /** The question has been read. */
  protected take(_read: Read<Q>): void {}

  /** From where it is known who asks for what. */
  protected abstract proceed(query: Q, route: Route): Promise<OutgoingResponse> | OutgoingResponse;

  /** The caller, for whom it is done. Looked at only when the call has lasted a moment. */
  protected abstract callerOf(incoming: IncomingRequest): () => AbortSignal;

  /** An answer is there: it is written, its row too, and it leaves. */
  protected abstract handOver(
    answer: A,
    query: Q,
    route: Route,
  ): Promise<OutgoingResponse> | OutgoingResponse;

  /** Within limits, then within budgets: whoever only waits holds no money that others could spend. */
  protected go(query: Q, route: Route): Promise<OutgoingResponse> | OutgoingResponse {
    const entering = this.#enter(query, route);
    if (entering instanceof Promise) {
      return entering.then((pass) => {
        this.#pass = pass;
        return this.#pay(query, route, pass.waitedMs);
      });
    }
    this.#pass = entering;
    return this.#pay(query, route, entering?.waitedMs ?? 0);
  }

  #enter(query: Q, route: Route): AdmissionTicket | Promise<AdmissionTicket> | undefined {
    const { caller } = this.record;
    if (!caller || !(route.scopes || caller.scopes || this.endpoint.kind === "image")) {
      return undefined;
    }
    const signal = (): AbortSignal => this.incoming.signal;
    return this.options.admission.admit({ caller, route, query, signal });
  }

  #pay(query: Q, route: Route, waitedMs: number): Promise<OutgoingResponse> | OutgoingResponse {
    const { record, options, endpoint, incoming } = this;
    if (!record.caller?.budgets) return this.#ask(query, route, waitedMs);
    const holding = options.spending.begin(endpoint.operation, query, route, record, incoming);
    if (!holding) return this.#ask(query, route, waitedMs);
    // What others could use is not kept from them while this one waits for money; then it begins anew.
    this.#pass?.release({ usage: undefined, wasSent: false, error: unasked() });
    this.#pass = undefined;
    return holding.then(async (ms) => {
      this.#pass = await this.#enter(query, route);
      return this.#ask(query, route, waitedMs + ms + (this.#pass?.waitedMs ?? 0));
    });
  }

  #ask(query: Q, route: Route, waitedMs: number): Promise<OutgoingResponse> | OutgoingResponse {
    const { record, temp, incoming, options } = this;
    const { operation, kind } = this.endpoint;
    const ms = (route.timeoutMs ?? options.timeoutMs[kind]) - Math.round(waitedMs);
    if (ms <= 0) throw tooLate();
    const deadline = options.startDeadline(this.callerOf(incoming), ms);
    this.deadline = deadline;
    const { signal } = deadline;
    const answer = this.#send({ operation, query, route, signal, temp, record });
    return answer instanceof Promise
      ? answer.then((come) => this.handOver(come, query, route))
      : this.handOver(answer, query, route);
  }

  /**
   * The end of a request that gets an error. Every resource of the request is released here, whether the row was written,
   * could not be written, or is written now.
   */
  protected async fail(thrown: unknown): Promise<OutgoingResponse> {
    // The write of the row is what failed: the ledger keeps that row itself, and the client gets the error.
    const isSettled = this.#settling !== undefined;
    const fault = toGatewayError(thrown, isSettled ? undefined : this.deadline?.signal);
    const error = this.endpoint.inClientWords?.(fault, this.incoming) ?? fault;
    const refusal = this.refuse(error);
    const released = this.release(error);
    if (!isSettled) {
      // A client that has disconnected receives nothing.
      this.record.outcome.bytesOut =
        error.kind === "client_closed" ? 0 : Buffer.byteLength(refusal.body);
      try {
        await this.settle(refusal.status, error);
      } catch {
        // The ledger keeps the row; the client gets its error already.
      }
    }
    await released;
    return refusal;
  }

  protected refuse(error: GatewayError): ErrorResponse {
    return toErrorResponse(error);
  }

  /** Releases everything that is held for a request that failed. Never rejects. */
  protected async release(_error: GatewayError): Promise<void> {}

  /**
   * The end of every request, good or bad: the row is written, then every counter is released. Nothing that fails on the
   * way keeps the row from being written or another resource from being released. A second call returns the first result.
   */
  protected settle(status: number, error?: GatewayError): Promise<Settled> {
    this.#settling ??= this.#settle(status, error);
    return this.#settling;
  }

  #settle(status: number, error?: GatewayError): Promise<Settled> {
    const { record, incoming } = this;
    const { clock, ledger, spending } = this.options;
    record.outcome.status = status;
    record.outcome.error = error?.kind;
    record.outcome.latencyMs = clock() - this.#started;
    record.outcome.bytesIn = incoming.bytesReceived;
    this.contain(() => this.deadline?.end());
    if (record.cost.reservation) this.contain(() => spending.end(record, error));
    let settling = nothingToSettle;
    try {
      if (record.caller) settling = ledger.settle(record.ledgerRow(record.caller));
    } catch (failure) {
      settling = Promise.reject(failure);
    }
    return settling.then(
      (outcome) => {
        this.#over(error);
        return outcome;
      },
      (failure) => {
        this.#over(error);
        throw failure;
      },
    );
  }

  #over(error: GatewayError | undefined): void {
    const { record, endpoint, options } = this;
    const pass = this.#pass;
    // Settled already, unless settling it failed: a reservation that nobody ends would count against the budget for ever.
    if (record.cost.reservation) this.contain(() => record.cost.reservation?.release());
    if (pass) {
      this.contain(() =>
        pass.release({ usage: record.usage, wasSent: reachedUpstream(record, error), error }),
      );
    }
    this.contain(() => record.end());
    this.contain(() => this.incoming.releaseBody());
    this.contain(() => this.#inHand.end(endpoint.kind, this.#sheddingDecision, record.caller?.id));
    this.contain(() => options.report(record, error));
  }

  /** Runs one release. Its failure is logged and never thrown: the releases after it must run as well. */
  protected contain(release: () => void): void {
    try {
      release();
    } catch (failure) {
      this.options.onDefect(this.record.requestId, failure);
    }
  }

  /** With what is left of the caller's limits. */
  #limited(outgoing: OutgoingResponse): OutgoingResponse {
    const { caller } = this.record;
    if (!caller || !(caller.scopes || this.route?.scopes)) return outgoing;
    // The response holds resources by now: a header that cannot be written must not take it away.
    this.contain(() => this.options.admission.writeHeaders(caller, this.route, outgoing.headers));
    return outgoing;
  }
}

/** What was taken for it is given back: it is no fault of its own that it waits. */
const unasked = (): GatewayError =>
  new GatewayError("over_budget", "The call waits for money.", {
    overrides: { retry: "later" },
    notSent: true,
  });

const tooLate = (): GatewayError =>
  new GatewayError(
    "upstream_timeout",
    "The time for this call was over before there was room for it. Nobody was asked. Please retry your request after a brief delay.",
    { notSent: true },
  );

const nothingToSettle: Promise<Settled> = Promise.resolve("settled");

/** Each answer's own: others add to it. */
export const jsonHeaders = (): Record<string, string> => ({ "content-type": "application/json" });

export function answered(
  body: OutgoingResponse["body"],
  outcome: Settled,
  headers: Record<string, string>,
): OutgoingResponse {
  if (outcome === "unsettled") headers["vexel-ledger"] = "unsettled";
  return { status: 200, headers, body };
}
