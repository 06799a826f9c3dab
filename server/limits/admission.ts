/**
 * Admission control: rate limits (token buckets) and concurrency slots of the request's key, project, end user, tags
 * and model. A request is admitted after its model is resolved and releases its slots when its ledger row is written.
 * Embeddings requests without limits skip it. Image requests without limits only take one of the gateway's image
 * slots.
 */
import type { Snapshot } from "../config/snapshot.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Timers } from "../lib/timers.ts";
import type { Caller, PermittedModel } from "../request/caller.ts";
import { queueAbortError } from "../request/deadline.ts";
import type { Priority } from "../request/http-types.ts";
import { type ConcurrencySlots, LocalSlots, type SlotLease } from "./concurrency-slots.ts";
import { FairQueue, type SlotRequest } from "./fair-queue.ts";
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
import { isSharedLimit } from "./shared-slots.ts";

interface AdmissionOptions {
  readonly snapshot: () => Pick<Snapshot, "limits">;
  readonly counters: RateLimitCounters;
  /** Takes from the counters that replicas share. If absent, each process counts for itself. */
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
  /** Undefined if the request has taken from its rate limits, and must wait for its slots. */
  readonly lease?: SlotLease | undefined;
}

/** Must be released exactly once, however the request ends. */
export interface AdmissionTicket {
  readonly waitedMs: number;
  release(outcome: RequestOutcome): void;
}

/** A request that waits for one slot in each of several scopes. */
interface WaitingRequest
  extends Pick<AdmissionRequest, "signal" | "budgets">,
    Pick<SlotRequest, "key" | "priority" | "neededSlots" | "hasStarted"> {
  readonly model: Pick<PermittedModel, "id" | "kind">;
  /** An upstream may have received the request, in an attempt before this wait. */
  readonly wasSent: boolean;
}

export class Admission {
  readonly #options: AdmissionOptions;
  readonly #limiter: Limiter;
  readonly #queue: FairQueue;
  readonly #imageSlots: ConcurrencySlots;
  #limits: Snapshot["limits"];

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#limiter = new Limiter(options.counters);
    const newId = (): string => options.shared?.newId() ?? "";
    this.#queue = new FairQueue({ ...options, max: options.maxWaiting, newId });
    this.#imageSlots = new LocalSlots(options.maxImageRequests);
  }

  /** Undefined if no limit applies. Throws GatewayError at a rate limit, or if no slot becomes free in time. */
  async admit(request: AdmissionRequest): Promise<AdmissionTicket | undefined> {
    const { caller, model, query, priority, signal } = request;
    const isLimited = caller.scopes !== undefined || model.scopes !== undefined;
    if (!isLimited && model.kind !== "image") return undefined;
    const { clock } = this.#options;
    const scopes = isLimited ? this.scopesOf(caller.scopes, model.scopes) : [];
    const neededSlots = scopes.map(({ slots }) => slots);
    if (model.kind === "image") neededSlots.push(this.#imageSlots);
    // An image request without limits of its own needs only a slot of the gateway.
    const only = scopes.length === 0 ? this.#queue.tryTake(neededSlots) : undefined;
    if (only) return { waitedMs: 0, release: () => only.release() };
    const demand = demandOf(query);
    const { budgets } = request;
    const entering = this.enter({ scopes, neededSlots, demand, budgets });
    const { exceeded, lease } = entering instanceof Promise ? await entering : entering;
    if (exceeded) throw rateLimitExceeded(exceeded, model.id, limitOwner(exceeded.scope, caller));
    const ticketOf = (held: SlotLease, waitedMs: number): AdmissionTicket => ({
      waitedMs,
      release: (outcome) => {
        settleDemand(scopes, demand, actualDemand(demand, outcome), clock());
        held.release();
      },
    });
    if (lease) return ticketOf(lease, 0);
    const arrivedAt = clock();
    try {
      const waiting = { key: caller.id, priority, model, neededSlots, budgets, signal };
      const taken = await this.waitForSlots({
        ...waiting,
        hasStarted: () => false,
        wasSent: false,
      });
      return ticketOf(taken, clock() - arrivedAt);
    } catch (error) {
      settleDemand(scopes, demand, noDemand, clock());
      throw error;
    }
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
    return { exceeded, lease: exceeded ? undefined : this.#queue.tryTake(neededSlots) };
  }

  async #enterShared(shared: SharedLimiter, entry: EntryDemand): Promise<Entry> {
    const { scopes, neededSlots, demand, budgets } = entry;
    // Behind other requests in the queue, it takes only from its rate limits now.
    const lease = this.#queue.tryTake(neededSlots);
    let grant: SharedGrant | undefined;
    try {
      grant = await shared.take({ scopes, demand, ...(lease && { lease, budgets }) });
      if (grant?.outcome === "taken") return { lease };
    } catch (error) {
      lease?.releaseUnused();
      throw error;
    }
    lease?.releaseUnused();
    return grant ? { exceeded: grant.exceeded } : this.#enterLocally(entry);
  }

  /** Writes the `x-ratelimit-*` headers of the limits that apply to the request. */
  writeHeaders(
    { scopes }: Caller,
    model: PermittedModel | undefined,
    headers: Record<string, string>,
  ): void {
    // A request that was refused before its admission may have an end user whose limits are unused.
    const used = scopes?.filter((id) => this.#limiter.isUsed(id));
    writeRateLimitHeaders(this.scopesOf(used, model?.scopes), this.#options.clock(), headers);
  }

  /** The scopes of these names that have limits, with their current usage. */
  scopesOf(...lists: readonly (readonly string[] | undefined)[]): readonly LimitScope[] {
    this.applyLimits();
    return this.#limiter.find(this.#options.clock(), ...lists);
  }

  /** The scope of this id with its usage, on all replicas. Undefined if it has no limits. */
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

  /** Takes a slot in every scope, after a wait, and reserves the budgets with it. Throws GatewayError. */
  waitForSlots(request: WaitingRequest): Promise<SlotLease> {
    const { model, neededSlots, budgets, wasSent } = request;
    const { shared, queueTimeoutMs } = this.#options;
    const signal = request.signal();
    // Without a reply, the request is admitted again: then this replica applies its share.
    const take = async (lease: SlotLease): Promise<boolean> => {
      if (!shared?.isReachable) return true;
      const grant = await shared.take({ scopes: [], demand: noDemand, lease, budgets });
      return grant?.outcome === "taken";
    };
    return this.#queue.take({
      ...request,
      signal,
      queueTimeoutMs: queueTimeoutMs[model.kind],
      refusal: (reason) =>
        reason === "aborted"
          ? queueAbortError(signal, wasSent)
          : noSlotError(reason, model.id, neededSlots, wasSent),
      ...(neededSlots.some(isSharedLimit) && { take }),
    });
  }

  /** Admits queued requests that have free slots. */
  admitWaiting(): void {
    this.#queue.admitWaiting();
  }

  close(): void {
    this.#queue.close();
  }

  /** Applies the limits of a reloaded configuration, and admits the requests for which they leave capacity. */
  applyLimits(): void {
    const { limits } = this.#options.snapshot();
    if (limits === this.#limits) return;
    this.#limits = limits;
    this.#limiter.apply(limits ?? new Map(), this.#options.clock());
    this.#queue.refresh();
  }
}

const ownersOfProjects = { "end_user:": "end user", "tag:": "tag" } as const;

/** The owner of the limit, for the error message. */
function limitOwner({ id }: LimitScope, { name, project }: Caller): string {
  if (id.startsWith("key:")) return ` with the key "${name}"`;
  if (id.startsWith("project:")) return ` in the project "${project}"`;
  for (const [prefix, noun] of Object.entries(ownersOfProjects)) {
    if (!id.startsWith(prefix)) continue;
    return ` for the ${noun} "${id.slice(id.lastIndexOf("\t") + 1)}" in the project "${project}"`;
  }
  return "";
}

const [minRetryAfterMs, maxRetryAfterMs] = [1000, 60_000];

/** `retry-after` is the expected wait for a slot. */
function noSlotError(
  reason: "timeout" | "full",
  model: string,
  neededSlots: readonly ConcurrencySlots[],
  wasSent: boolean,
): GatewayError {
  const full = neededSlots.filter((slots) => slots.isExhausted());
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
