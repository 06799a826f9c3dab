/**
 * Admission control: rate limits (token buckets) and concurrency slots of the request's key, project and model. A
 * request is admitted after its model is resolved and releases its slots when its ledger row is written. Embeddings
 * requests without limits skip it. Image requests without limits only take one of the gateway's image slots.
 */
import type { Snapshot } from "../config/snapshot.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Timers } from "../lib/timers.ts";
import type { Caller, PermittedModel } from "../request/caller.ts";
import { queueAbortError } from "../request/deadline.ts";
import type { Priority } from "../request/http-types.ts";
import { ConcurrencySlots } from "./concurrency-slots.ts";
import { FairQueue, refreshSlots, type Waiter } from "./fair-queue.ts";
import {
  Limiter,
  type LimitScope,
  noDemand,
  type Shortage,
  settleDemand,
  take,
} from "./limiter.ts";
import type { Demand, RateLimitCounters } from "./rate-limit-counters.ts";
import { rateLimitExceeded, writeRateLimitHeaders } from "./rate-limit-headers.ts";
import {
  actualDemand,
  demandOf,
  type LimitedQuery,
  type RequestOutcome,
} from "./request-demand.ts";
import type { RequestBudgets, SharedGrant, SharedLimiter } from "./shared-limiter.ts";

interface AdmissionOptions {
  readonly snapshot: () => Pick<Snapshot, "limits">;
  readonly counters: RateLimitCounters;
  /** Takes from the counters that replicas share. Absent: each process counts for itself. */
  readonly shared?: SharedLimiter | undefined;
  /** The limit of concurrent image requests. */
  readonly maxImageRequests: number;
  /** The limit of queued requests. */
  readonly maxWaiting: number;
  /** The queue timeout. */
  readonly queueTimeoutMs: { readonly embedding: number; readonly image: number };
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly timers: Timers;
}

interface AdmissionRequest {
  readonly caller: Caller;
  readonly model: PermittedModel;
  readonly query: LimitedQuery;
  readonly priority: Priority;
  /** The client's signal; read only if the request must wait. */
  readonly signal: () => AbortSignal;
  /** Shared limits: the budgets that are reserved in the same call. */
  readonly budgets?: RequestBudgets | undefined;
}

/** What a request takes before it starts. */
interface EntryDemand extends Pick<AdmissionRequest, "budgets"> {
  readonly scopes: readonly LimitScope[];
  /** One slot of each. */
  readonly neededSlots: readonly ConcurrencySlots[];
  readonly demand: Demand;
}

interface Entry {
  /** The rate limit that the request exceeds: it has taken nothing. */
  readonly exceeded?: Shortage | undefined;
  /** False: the request has taken from its rate limits, and must wait for its slots. */
  readonly hasSlots: boolean;
}

/** Must be released exactly once, however the request ends. */
export interface AdmissionTicket {
  readonly waitedMs: number;
  release(outcome: RequestOutcome): void;
}

/** A request for one slot in each of several scopes. */
interface SlotRequest extends Pick<AdmissionRequest, "priority" | "signal" | "budgets"> {
  /** The API key, for fair queueing. */
  readonly key: string;
  readonly model: Pick<PermittedModel, "id" | "kind">;
  readonly neededSlots: readonly ConcurrencySlots[];
  /** Work was already done for the request. */
  readonly hasStarted: () => boolean;
  /** An upstream may have received the request, in an attempt before this wait. */
  readonly wasSent: boolean;
}

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #limiter: Limiter;
  readonly #queue: FairQueue;
  readonly #imageSlots: ConcurrencySlots;
  #limits: Snapshot["limits"];
  /** The next change of a limit that changes with time, while requests wait for its slots. */
  #refresh: { readonly at: number; readonly timer: unknown } | undefined;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#limiter = new Limiter(options.counters);
    this.#queue = new FairQueue(options.maxWaiting);
    this.#imageSlots = new ConcurrencySlots(options.maxImageRequests);
  }

  /** Undefined: no limit applies. Throws GatewayError at a rate limit, or if no slot becomes free in time. */
  async admit(request: AdmissionRequest): Promise<AdmissionTicket | undefined> {
    const { caller, model, query, priority, signal } = request;
    const isLimited = caller.scopes !== undefined || model.scopes !== undefined;
    if (!isLimited && model.kind !== "image") return undefined;
    const { clock } = this.#options;
    const scopes = isLimited ? this.scopesOf(caller.scopes, model.scopes) : [];
    const neededSlots = scopes.map(({ slots }) => slots);
    if (model.kind === "image") neededSlots.push(this.#imageSlots);
    // An image request without limits of its own needs only a slot of the gateway.
    if (scopes.length === 0 && this.#queue.tryEnter(neededSlots)) {
      const enteredAt = clock();
      return { waitedMs: 0, release: () => this.release(neededSlots, clock() - enteredAt) };
    }
    const demand = demandOf(query);
    const { budgets } = request;
    const entering = this.enter({ scopes, neededSlots, demand, budgets });
    const { exceeded, hasSlots } = entering instanceof Promise ? await entering : entering;
    const arrivedAt = clock();
    if (exceeded) throw rateLimitExceeded(exceeded, model.id, limitOwner(exceeded.scope, caller));
    let admittedAt = arrivedAt;
    const release = (outcome: RequestOutcome): void => {
      const now = clock();
      settleDemand(scopes, demand, actualDemand(demand, outcome), now);
      this.release(neededSlots, now - admittedAt);
    };
    if (hasSlots) return { waitedMs: 0, release };
    try {
      await this.waitForSlots({
        key: caller.id,
        priority,
        model,
        neededSlots,
        budgets,
        signal,
        hasStarted: () => false,
        wasSent: false,
      });
    } catch (error) {
      settleDemand(scopes, demand, noDemand, clock());
      throw error;
    }
    admittedAt = clock();
    return { waitedMs: admittedAt - arrivedAt, release };
  }

  /**
   * Takes from the rate limits and, if all are free, one of each of the slots. Shared limits: one call, which also
   * reserves the budgets with the slots. Throws GatewayError if a budget is too small; then nothing is taken.
   */
  enter(entry: EntryDemand): Entry | Promise<Entry> {
    const { shared } = this.#options;
    return shared?.isReachable && entry.scopes.length > 0
      ? this.#enterShared(shared, entry)
      : this.#enterLocally(entry);
  }

  #enterLocally({ scopes, neededSlots, demand }: EntryDemand): Entry {
    const exceeded = take(scopes, demand, this.#options.clock());
    return { exceeded, hasSlots: !exceeded && this.#queue.tryEnter(neededSlots) };
  }

  async #enterShared(shared: SharedLimiter, entry: EntryDemand): Promise<Entry> {
    const { scopes, neededSlots, demand, budgets } = entry;
    for (const slots of neededSlots) if (slots.waiting === 0) slots.shared?.assumeFree();
    // Behind other requests in the queue, it takes only from its rate limits now.
    const isEntering = this.#queue.tryEnter(neededSlots);
    const entering = isEntering ? { slots: neededSlots, budgets } : { slots: [] };
    let hasSlots = false;
    let grant: SharedGrant | undefined;
    try {
      grant = await shared.take({ scopes, demand, ...entering });
      hasSlots = isEntering && grant?.outcome === "taken";
    } finally {
      if (isEntering && !hasSlots) this.#giveBack(neededSlots);
    }
    return grant ? { exceeded: grant.exceeded, hasSlots } : this.#enterLocally(entry);
  }

  /** Writes the `x-ratelimit-*` headers of the limits that apply to the request. */
  writeHeaders(
    { scopes }: Caller,
    model: PermittedModel | undefined,
    headers: Record<string, string>,
  ): void {
    writeRateLimitHeaders(this.scopesOf(scopes, model?.scopes), this.#options.clock(), headers);
  }

  /** The scopes of these names that have limits, with their current usage. */
  scopesOf(...lists: readonly (readonly string[] | undefined)[]): readonly LimitScope[] {
    this.applyLimits();
    return this.#limiter.find(this.#options.clock(), ...lists);
  }

  /** The scope of this id with its usage, on all replicas. Undefined: it has no limits. */
  async shownScope(id: string): Promise<LimitScope | undefined> {
    this.applyLimits();
    const now = this.#options.clock();
    const scope = this.#limiter.shown(id, now);
    if (scope) await this.#options.shared?.read([scope]);
    return scope;
  }

  /** The number of queued requests. */
  get queued(): number {
    return this.#queue.size;
  }

  /** Takes a slot in every scope, after a wait if necessary, and reserves the budgets with it. Throws GatewayError. */
  async waitForSlots(request: SlotRequest): Promise<void> {
    const { key, priority, model, neededSlots, budgets, hasStarted, wasSent } = request;
    const { shared } = this.#options;
    const isShared = shared !== undefined && neededSlots.some((slots) => slots.shared);
    if (!isShared && this.#queue.tryEnter(neededSlots)) return;
    const { clock, timers, queueTimeoutMs } = this.#options;
    const signal = request.signal();
    if (signal.aborted) throw queueAbortError(signal, wasSent);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const now = clock();
    const end = (reason: unknown): void => {
      this.#queue.cancel(waiter, clock());
      reject(reason);
    };
    const takeShared = async (limiter: SharedLimiter): Promise<boolean> => {
      if (!limiter.isReachable) return true;
      try {
        const grant = await limiter.take({
          scopes: [],
          demand: noDemand,
          slots: neededSlots,
          budgets,
        });
        if (grant) return grant.outcome === "taken";
        return neededSlots.every(({ inFlight, limit }) => inFlight <= limit);
      } catch (error) {
        end(error);
        return false;
      }
    };
    const waiter: Waiter = {
      key,
      priority,
      neededSlots,
      hasStarted,
      ...(isShared && { take: () => takeShared(shared) }),
      admit: () => resolve(),
      reject: (reason) => reject(noSlotError(reason, model.id, neededSlots, wasSent)),
    };
    // Before `wait`, which admits the request if its limit was lifted meanwhile.
    this.#refreshAfter(refreshSlots(neededSlots, now), now);
    this.#queue.wait(waiter, now);
    // If the request already holds its slots, its owner releases them.
    const onAbort = (): void => end(queueAbortError(signal, wasSent));
    const timer = timers.start(queueTimeoutMs[model.kind], () =>
      this.#queue.timeOut(waiter, clock()),
    );
    signal.addEventListener("abort", onAbort);
    try {
      await promise;
    } finally {
      timers.stop(timer);
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Releases one slot of each of these. */
  release(heldSlots: readonly ConcurrencySlots[], heldMs: number): void {
    for (const slots of heldSlots) slots.release(heldMs);
    this.admitWaiting();
  }

  /** Slots were acquired and are not used. */
  #giveBack(acquired: readonly ConcurrencySlots[]): void {
    for (const slots of acquired) slots.giveBack();
    this.admitWaiting();
  }

  /** Admits queued requests that have free slots. */
  admitWaiting(): void {
    if (this.#queue.size > 0) this.#queue.admitWaiting(this.#options.clock());
  }

  close(): void {
    if (this.#refresh) this.#options.timers.stop(this.#refresh.timer);
    this.#refresh = undefined;
  }

  /** One timer for all limits: it is started again only for an earlier change. */
  #refreshAfter(ms: number, now: number): void {
    if (ms === Number.POSITIVE_INFINITY || (this.#refresh && this.#refresh.at <= now + ms)) return;
    this.close();
    const onChange = (): void => {
      this.#refresh = undefined;
      const changedAt = this.#options.clock();
      this.#refreshAfter(this.#queue.refresh(changedAt), changedAt);
    };
    this.#refresh = { at: now + ms, timer: this.#options.timers.start(ms, onChange) };
  }

  /** Applies the limits of a reloaded configuration, and admits the requests for which they leave capacity. */
  applyLimits(): void {
    const { limits } = this.#options.snapshot();
    if (limits === this.#limits) return;
    const now = this.#options.clock();
    this.#limits = limits;
    this.#limiter.apply(limits ?? new Map(), now);
    this.#refreshAfter(this.#queue.refresh(now), now);
  }
}

/** The owner of the limit, for the error message. */
function limitOwner({ id }: LimitScope, { name, project }: Caller): string {
  if (id.startsWith("key:")) return ` with the key "${name}"`;
  return id.startsWith("project:") ? ` in the project "${project}"` : "";
}

const [minRetryAfterMs, maxRetryAfterMs] = [1000, 60_000];

/** `retry-after` is the expected wait for a slot. */
function noSlotError(
  reason: "timeout" | "full",
  model: string,
  neededSlots: readonly ConcurrencySlots[],
  wasSent: boolean,
): GatewayError {
  const full = neededSlots.filter(({ hasFreeSlot }) => !hasFreeSlot);
  const longest = Math.max(0, ...full.map(({ expectedWaitMs }) => expectedWaitMs ?? 0));
  const retryAfterMs = Math.min(maxRetryAfterMs, Math.max(minRetryAfterMs, Math.ceil(longest)));
  const message =
    reason === "full"
      ? "the queue is full"
      : `timed out while queued${wasSent ? "" : ", and no upstream request was sent"}`;
  return new GatewayError(
    "queue_full",
    `Too many concurrent requests for ${model}: ${message}. Please try again in ${Math.ceil(retryAfterMs / 1000)}s.`,
    { retryAfterMs, notSent: true },
  );
}
