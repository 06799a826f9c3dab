/**
 * Whether there is room for a call: within the limits of its key, its project and its model, and among those that are at work. A
 * call enters once it is known where it may go, and leaves when its row is written. With no limits it never comes here.
 */
import type { Snapshot } from "../config/snapshot.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Signal } from "../lib/signal.ts";
import type { Caller, Route } from "../request/caller.ts";
import { hungUp } from "../request/deadline.ts";
import { ConcurrencySlots } from "./concurrency-gate.ts";
import { FairQueue } from "./fair-queue.ts";
import type { Demand, LimitScope } from "./limit-scope.ts";
import { Limiter, noDemand, settleDemand, take } from "./limiter.ts";
import { overloadedError } from "./load-shedder.ts";
import { rateLimitError, writeRateLimitHeaders } from "./rate-limit-headers.ts";
import {
  actualDemand,
  demandOf,
  type LimitedQuery,
  queueTurnsOf,
  type RequestOutcome,
} from "./request-cost.ts";
import { NoSlot, waitForSlot } from "./wait-for-slot.ts";

export interface AdmissionOptions {
  readonly snapshot: () => Pick<Snapshot, "limits">;
  /** The most image calls at work at once. */
  readonly maxImageCalls: number;
  /** The most calls that wait. */
  readonly maxWaiting: number;
  /** The longest that one waits. */
  readonly waitMs: { readonly embedding: number; readonly image: number };
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** Calls it now and then, until it is told to stop. */
  readonly repeat: (look: () => void) => () => void;
}

export interface AdmissionRequest {
  readonly caller: Caller;
  readonly route: Route;
  readonly query: LimitedQuery;
  /** The caller's: looked at only by those who must wait. */
  readonly signal: () => Signal;
}

/** To be left once, however the call ends. */
export interface AdmissionTicket {
  readonly waitedMs: number;
  release(outcome: RequestOutcome): void;
}

/** One that wants to be inside of gates. */
export interface SlotRequest extends Pick<AdmissionRequest, "signal"> {
  /** Whose turn it is. */
  readonly key: string;
  readonly route: Pick<Route, "id" | "kind">;
  readonly gates: readonly ConcurrencySlots[];
  readonly demand: Demand;
  /** Work was done for it already. */
  readonly hasStarted: () => boolean;
}

type Names = readonly string[];
const noNames: Names = [];

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #limiter = new Limiter();
  readonly #queue: FairQueue;
  readonly #imageSlots: ConcurrencySlots;
  #limits: Snapshot["limits"];
  #stop: (() => void) | undefined;
  /** What was found: a snapshot has the same lists of names for all calls of a key to a model. */
  #known = new WeakMap<Names, WeakMap<Names, readonly LimitScope[]>>();

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#queue = new FairQueue(options.maxWaiting);
    this.#imageSlots = new ConcurrencySlots(options.maxImageCalls);
  }

  /** Undefined: nothing limits it. Throws GatewayError where there is no room, or none comes free in time. */
  admit({
    caller,
    route,
    query,
    signal,
  }: AdmissionRequest): AdmissionTicket | Promise<AdmissionTicket> | undefined {
    if (!caller.scopes && !route.scopes && route.kind !== "image") return undefined;
    const { clock } = this.#options;
    const scopes = this.scopesOf(caller.scopes, route.scopes);
    const gates = scopes.map(({ gate }) => gate);
    if (route.kind === "image") gates.push(this.#imageSlots);
    const demand = demandOf(query);
    const came = clock();
    const short = take(scopes, demand, came);
    if (short) throw rateLimitError(short, route.id, limitOwner(short.scope, caller));
    let inside = came;
    const release = (outcome: RequestOutcome): void => {
      const now = clock();
      settleDemand(scopes, demand, actualDemand(demand, outcome), now);
      this.release(gates, now - inside);
    };
    if (this.#queue.tryEnter(gates)) return { waitedMs: 0, release };
    const hasStarted = (): boolean => false;
    const waiting = this.waitForSlots({ key: caller.id, route, gates, demand, hasStarted, signal });
    return Promise.resolve(waiting).then(
      () => {
        inside = clock();
        return { waitedMs: inside - came, release };
      },
      (error: unknown) => {
        settleDemand(scopes, demand, noDemand, clock());
        throw error;
      },
    );
  }

  /** What is left of the limits that a caller meets. */
  writeHeaders(
    { scopes }: Caller,
    route: Route | undefined,
    headers: Record<string, string>,
  ): void {
    writeRateLimitHeaders(this.scopesOf(scopes, route?.scopes), this.#options.clock(), headers);
  }

  /** Those of these names that have limits, with what was used of them. */
  scopesOf(names: Names = noNames, others: Names = noNames): readonly LimitScope[] {
    this.#applyLimits();
    let known = this.#known.get(names);
    if (!known) {
      known = new WeakMap();
      this.#known.set(names, known);
    }
    let scopes = known.get(others);
    if (!scopes) {
      scopes = this.#limiter.find(names, others);
      known.set(others, scopes);
    }
    return scopes;
  }

  /** Waits for a place inside of all gates. Undefined: it is inside. */
  waitForSlots({ key, route, gates, demand, hasStarted, signal }: SlotRequest) {
    const { clock, repeat, waitMs: times } = this.#options;
    const waitMs = times[route.kind];
    const cost = queueTurnsOf(demand);
    const wanted = { key, gates, cost, hasStarted, waitMs, signal, clock };
    const waiting = waitForSlot(this.#queue, wanted);
    if (!waiting) return undefined;
    this.#stop ??= repeat(this.#expire);
    return waiting.catch((reason: unknown) => {
      if (reason instanceof NoSlot) throw noSlotError(reason, route.id);
      // What else ends a wait is a signal; that of a caller who leaves has no words of its own.
      throw reason instanceof GatewayError ? reason : hungUp();
    });
  }

  /** Those inside of these have left. */
  release(gates: readonly ConcurrencySlots[], stayedMs: number): void {
    for (const gate of gates) gate.release(stayedMs);
    this.admitWaiting();
  }

  /** Lets in those who wait and can go in. */
  admitWaiting(): void {
    if (this.#queue.size > 0) this.#queue.admitWaiting(this.#options.clock());
  }

  /** Makes room by sending away one that waits. False: there is none for whom nothing was done yet, or its key may not lose it. */
  shed(mayLose: (key: string) => boolean): boolean {
    return this.#queue.size > 0 && this.#queue.shed(this.#options.clock(), mayLose);
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  readonly #expire = (): void => {
    // There may be more room than there was, and perhaps nobody new comes to notice.
    this.#applyLimits();
    this.#queue.expire(this.#options.clock());
    if (this.#queue.size === 0) this.close();
  };

  /** With limits that were changed. */
  #applyLimits(): void {
    const { limits } = this.#options.snapshot();
    if (limits === this.#limits) return;
    const now = this.#options.clock();
    this.#limits = limits;
    this.#known = new WeakMap();
    this.#limiter.apply(limits ?? new Map(), now);
    this.#queue.admitWaiting(now);
  }
}

/** Whose limit it is, in words for the caller. */
function limitOwner({ id }: LimitScope, { name, project }: Caller): string {
  if (id.startsWith("key:")) return ` with the key "${name}"`;
  return id.startsWith("project:") ? ` in the project "${project}"` : "";
}

function noSlotError({ why, retryAfterMs }: NoSlot, model: string): GatewayError {
  if (why === "shed") return overloadedError();
  const reason =
    why === "full"
      ? "too many other calls wait for a place"
      : "no place came free while this call waited";
  return new GatewayError(
    "queue_full",
    `Too many concurrent requests for ${model}: ${reason}. Please try again in ${Math.ceil(retryAfterMs / 1000)}s.`,
    { retryAfterMs, unsent: true },
  );
}
