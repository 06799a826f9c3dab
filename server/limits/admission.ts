/**
 * Whether there is room for a call: within the limits of its key, its project and its model, and among those that are at work. A
 * call enters once it is known where it may go, and leaves when its row is written. With no limits it never comes here.
 */
import type { Snapshot } from "../config/snapshot.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Signal } from "../lib/signal.ts";
import type { Caller, Route } from "../request/caller.ts";
import { hungUp } from "../request/deadline.ts";
import { Gate } from "./concurrency-gate.ts";
import { FairQueue } from "./fair-queue.ts";
import type { Demand, Scope } from "./limit-scope.ts";
import { correct, Limiter, none, take } from "./limiter.ts";
import { tooMuch } from "./load-shedder.ts";
import { rateLimited, tellLimits } from "./rate-limit-headers.ts";
import { type Asked, costOf, demandOf, type Outcome, spentOf } from "./request-cost.ts";
import { NoPlace, waitForPlace } from "./wait-for-slot.ts";

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

export interface Entering {
  readonly caller: Caller;
  readonly route: Route;
  readonly query: Asked;
  /** The caller's: looked at only by those who must wait. */
  readonly signal: () => Signal;
}

/** To be left once, however the call ends. */
export interface Pass {
  readonly waitedMs: number;
  leave(outcome: Outcome): void;
}

/** One that wants to be inside of gates. */
export interface Arriving extends Pick<Entering, "signal"> {
  /** Whose turn it is. */
  readonly key: string;
  readonly route: Pick<Route, "id" | "kind">;
  readonly gates: readonly Gate[];
  readonly demand: Demand;
  /** Work was done for it already. */
  readonly begun: () => boolean;
}

type Names = readonly string[];
const nobody: Names = [];

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #limiter = new Limiter();
  readonly #queue: FairQueue;
  readonly #pictures: Gate;
  #limits: Snapshot["limits"];
  #stop: (() => void) | undefined;
  /** What was found: a snapshot has the same lists of names for all calls of a key to a model. */
  #known = new WeakMap<Names, WeakMap<Names, readonly Scope[]>>();

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#queue = new FairQueue(options.maxWaiting);
    this.#pictures = new Gate(options.maxImageCalls);
  }

  /** Undefined: nothing limits it. Throws GatewayError where there is no room, or none comes free in time. */
  enter({ caller, route, query, signal }: Entering): Pass | Promise<Pass> | undefined {
    if (!caller.scopes && !route.scopes && route.kind !== "image") return undefined;
    const { clock } = this.#options;
    const scopes = this.scopesOf(caller.scopes, route.scopes);
    const gates = scopes.map(({ gate }) => gate);
    if (route.kind === "image") gates.push(this.#pictures);
    const demand = demandOf(query);
    const came = clock();
    const short = take(scopes, demand, came);
    if (short) throw rateLimited(short, route.id, placeOf(short.scope, caller));
    let inside = came;
    const leave = (outcome: Outcome): void => {
      const now = clock();
      correct(scopes, demand, spentOf(demand, outcome), now);
      this.free(gates, now - inside);
    };
    if (this.#queue.enter(gates)) return { waitedMs: 0, leave };
    const begun = (): boolean => false;
    const waiting = this.wait({ key: caller.id, route, gates, demand, begun, signal });
    return Promise.resolve(waiting).then(
      () => {
        inside = clock();
        return { waitedMs: inside - came, leave };
      },
      (error: unknown) => {
        correct(scopes, demand, none, clock());
        throw error;
      },
    );
  }

  /** What is left of the limits that a caller meets. */
  tell({ scopes }: Caller, route: Route | undefined, headers: Record<string, string>): void {
    tellLimits(this.scopesOf(scopes, route?.scopes), this.#options.clock(), headers);
  }

  /** Those of these names that have limits, with what was used of them. */
  scopesOf(names: Names = nobody, others: Names = nobody): readonly Scope[] {
    this.#keepUp();
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
  wait({ key, route, gates, demand, begun, signal }: Arriving) {
    const { clock, repeat, waitMs: times } = this.#options;
    const waitMs = times[route.kind];
    const cost = costOf(demand);
    const wanted = { key, gates, cost, begun, waitMs, signal, clock };
    const waiting = waitForPlace(this.#queue, wanted);
    if (!waiting) return undefined;
    this.#stop ??= repeat(this.#look);
    return waiting.catch((reason: unknown) => {
      if (reason instanceof NoPlace) throw noPlace(reason, route.id);
      // What else ends a wait is a signal; that of a caller who leaves has no words of its own.
      throw reason instanceof GatewayError ? reason : hungUp();
    });
  }

  /** Those inside of these have left. */
  free(gates: readonly Gate[], stayedMs: number): void {
    for (const gate of gates) gate.leave(stayedMs);
    this.pass();
  }

  /** Lets in those who wait and can go in. */
  pass(): void {
    if (this.#queue.size > 0) this.#queue.pass(this.#options.clock());
  }

  /** Makes room by sending away one that waits. False: there is none for whom nothing was done yet, or its key may not lose it. */
  shed(mayLose: (key: string) => boolean): boolean {
    return this.#queue.size > 0 && this.#queue.shed(this.#options.clock(), mayLose);
  }

  close(): void {
    this.#stop?.();
    this.#stop = undefined;
  }

  readonly #look = (): void => {
    // There may be more room than there was, and perhaps nobody new comes to notice.
    this.#keepUp();
    this.#queue.expire(this.#options.clock());
    if (this.#queue.size === 0) this.close();
  };

  /** With limits that were changed. */
  #keepUp(): void {
    const { limits } = this.#options.snapshot();
    if (limits === this.#limits) return;
    const now = this.#options.clock();
    this.#limits = limits;
    this.#known = new WeakMap();
    this.#limiter.apply(limits ?? new Map(), now);
    this.#queue.pass(now);
  }
}

/** Whose limit it is, in words for the caller. */
function placeOf({ id }: Scope, { name, project }: Caller): string {
  if (id.startsWith("key:")) return ` with the key "${name}"`;
  return id.startsWith("project:") ? ` in the project "${project}"` : "";
}

function noPlace({ why, retryAfterMs }: NoPlace, model: string): GatewayError {
  if (why === "shed") return tooMuch();
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
