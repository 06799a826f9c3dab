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
  leaseAndTake,
  mustLease,
  noDemand,
  settleDemand,
  take,
} from "./limiter.ts";
import type { RateLimitCounters } from "./rate-limit-counters.ts";
import { rateLimitExceeded, writeRateLimitHeaders } from "./rate-limit-headers.ts";
import {
  actualDemand,
  demandOf,
  type LimitedQuery,
  type RequestOutcome,
} from "./request-demand.ts";

interface AdmissionOptions {
  readonly snapshot: () => Pick<Snapshot, "limits">;
  readonly counters: RateLimitCounters;
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
}

/** Must be released exactly once, however the request ends. */
export interface AdmissionTicket {
  readonly waitedMs: number;
  release(outcome: RequestOutcome): void;
}

/** A request for one slot in each of several scopes. */
interface SlotRequest extends Pick<AdmissionRequest, "priority" | "signal"> {
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
    const exceeded = mustLease(scopes, demand, clock())
      ? await leaseAndTake(scopes, demand, clock)
      : take(scopes, demand, clock());
    const arrivedAt = clock();
    if (exceeded) throw rateLimitExceeded(exceeded, model.id, limitOwner(exceeded.scope, caller));
    let admittedAt = arrivedAt;
    const release = (outcome: RequestOutcome): void => {
      const now = clock();
      settleDemand(scopes, demand, actualDemand(demand, outcome), now);
      this.release(neededSlots, now - admittedAt);
    };
    if (this.#queue.tryEnter(neededSlots)) return { waitedMs: 0, release };
    try {
      await this.waitForSlots({
        key: caller.id,
        priority,
        model,
        neededSlots,
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
    await scope?.readShared(now);
    return scope;
  }

  /** The number of queued requests. */
  get queued(): number {
    return this.#queue.size;
  }

  /** Takes a slot in every scope, after a wait if necessary. Throws GatewayError. */
  async waitForSlots(request: SlotRequest): Promise<void> {
    if (this.#queue.tryEnter(request.neededSlots)) return;
    if (request.neededSlots.some((slots) => slots.canLease?.())) {
      await leaseSlots(request.neededSlots);
      if (this.#queue.tryEnter(request.neededSlots)) return;
    }
    const { key, priority, model, neededSlots, hasStarted, wasSent } = request;
    const { clock, timers, queueTimeoutMs } = this.#options;
    const signal = request.signal();
    if (signal.aborted) throw queueAbortError(signal, wasSent);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const now = clock();
    const waiter: Waiter = {
      key,
      priority,
      neededSlots,
      hasStarted,
      admit: () => resolve(),
      reject: (reason) => reject(noSlotError(reason, model.id, neededSlots, wasSent)),
    };
    // Before `wait`, which admits the request if its limit was lifted meanwhile.
    this.#refreshAfter(refreshSlots(neededSlots, now), now);
    this.#queue.wait(waiter, now);
    const onAbort = (): void => {
      // If the request already holds its slots, its owner releases them.
      this.#queue.cancel(waiter, clock());
      reject(queueAbortError(signal, wasSent));
    };
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

/**
 * Leases the missing slots in their order, as queued requests do (`FairQueue`). No slot is leased after one that is
 * missing.
 */
async function leaseSlots(neededSlots: readonly ConcurrencySlots[]): Promise<void> {
  const free: ConcurrencySlots[] = [];
  for (const slots of neededSlots) {
    if (slots.canLease?.()) await slots.lease?.();
    if (!slots.hasFreeSlot) break;
    slots.entering++;
    free.push(slots);
  }
  for (const slots of free) slots.entering--;
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
