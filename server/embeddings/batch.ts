/**
 * Micro-batching stage: joins small requests to a target into one upstream request. At a busy target, requests wait for
 * the batch, up to `maxWaitMs`. At a target that is neither idle nor busy, requests of the same turn of the event loop
 * are joined, without a wait; otherwise 32 connections with uncached texts take 2.5 times the upstream requests and 1.1
 * times the CPU (`npm run bench -- --only uncached`). An idle target gets each request at once.
 */

import { isEmptyObject } from "../lib/large-json.ts";
import { loadOf, type RequestLoad } from "../limits/request-demand.ts";
import type { PermittedModel } from "../request/caller.ts";
import type { Priority } from "../request/http-types.ts";
import type { Stage, StageRequest } from "../request/stage.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingInput,
  EmbeddingsQuery,
  EmbeddingsResponse,
  MixedInput,
  Target,
} from "../upstream/contract.ts";
import { isInMemory } from "../upstream/mixed-input.ts";
import { BatchMember, type EmbeddingsSend, type MemberOwner } from "./batch-member.ts";
import { sendBatch } from "./batch-request.ts";
import { needsConversion } from "./multimodal/image-refusal.ts";
import { itemsOf, strictestImageLimits, strictestLimits, unsplittableReason } from "./split.ts";

export interface BatchOptions {
  readonly capabilities: (target: Target) => EmbeddingCapabilities;
  /** Whether requests for this model may be batched. */
  readonly enabled: (model: PermittedModel) => boolean;
  /** Kinds of upstreams that batch by themselves, such as built-in models: their models are not batched here. */
  readonly selfBatching?: Pick<ReadonlyMap<string, unknown>, "has">;
  /** With this many upstream requests in flight a target is busy; below that, no request waits. */
  readonly concurrency?: number;
  /** The longest time that a request waits to be batched. */
  readonly maxWaitMs?: number;
  /** Called with the number of requests of each batch of at least two. */
  readonly onBatch?: (requests: number) => void;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** The maximum batch size in inputs, even if the target takes more. */
const maxInputs = 64;
/** A request with more inputs is not batched. */
const maxInputsPerRequest = 16;
/** A target whose responses usually take less is never busy: waiting for a batch would cost more than it saves. */
const fastMs = 5;

export const batch =
  ({
    capabilities,
    enabled,
    selfBatching,
    concurrency = 4,
    maxWaitMs = 25,
    onBatch = () => undefined,
    clock,
  }: BatchOptions): Stage<EmbeddingsQuery, EmbeddingsResponse> =>
  (next) => {
    // Targets belong to a config snapshot: their batchers are garbage-collected with it.
    const batchers = new WeakMap<Target, Batcher>();
    // Requests with images have other limits and latencies.
    const imageBatchers = new WeakMap<Target, Batcher>();
    const createBatcher = (target: Target, hasImages: boolean): Batcher => {
      const own = [capabilities(target)];
      const limits = hasImages ? strictestImageLimits(own) : strictestLimits(own);
      const items = Math.min(limits.items, maxInputs);
      const batcher = new Batcher({
        next,
        limits: { ...limits, items },
        concurrency,
        maxWaitMs,
        onBatch,
        clock,
      });
      (hasImages ? imageBatchers : batchers).set(target, batcher);
      return batcher;
    };
    const batchesItself = ({ targets }: PermittedModel): boolean => {
      for (const { upstream } of targets) if (selfBatching?.has(upstream.kind)) return true;
      return false;
    };
    return (request) => {
      const { target, query, model } = request;
      if (!target || !enabled(model) || batchesItself(model)) return next(request);
      const hasImages = query.input.kind === "mixed";
      const batcher =
        (hasImages ? imageBatchers : batchers).get(target) ?? createBatcher(target, hasImages);
      // The passthrough fields of two requests may mean different things, so a request with such fields joins no batch.
      const isUnbatchable =
        request.attempt?.followsSlow === true ||
        !isEmptyObject(query.extraFields) ||
        (query.input.kind === "mixed" && !isBatchable(query.input, capabilities(target))) ||
        unsplittableReason(query, model) !== undefined;
      if (batcher.isIdle || itemsOf(query.input) > maxInputsPerRequest || isUnbatchable) {
        return batcher.send(request);
      }
      return batcher.enqueue(request);
    };
  };

/** Files, also those of converted images, are closed when the request ends that they belong to. */
const isBatchable = (input: MixedInput, { images }: EmbeddingCapabilities): boolean =>
  images !== undefined && isInMemory(input) && !needsConversion(input, images);

interface BatcherOptions
  extends Required<Pick<BatchOptions, "concurrency" | "maxWaitMs" | "onBatch" | "clock">> {
  readonly next: EmbeddingsSend;
  /** The most inputs, tokens and bytes of one batch. */
  readonly limits: RequestLoad;
}

/** A batch that is being filled: requests of one priority with equal parameters. */
interface PendingBatch extends MemberOwner {
  readonly key: string;
  readonly model: PermittedModel;
  readonly priority: Priority;
  readonly members: Set<BatchMember>;
  readonly timer: ReturnType<typeof setTimeout | typeof setImmediate>;
  items: number;
  tokens: number;
  bytes: number;
  images: number;
}

/**
 * Micro-batching for one target. While the target is busy, requests wait and are sent as one batch; otherwise only
 * requests of the same turn of the event loop are joined, without a wait.
 */
class Batcher {
  readonly #options: BatcherOptions;
  /** In insertion order: the oldest batch is sent first. Bounded by the requests in flight. */
  readonly #pending = new Map<string, PendingBatch>();
  readonly #inFlight: Record<Priority, number> = { interactive: 0, batch: 0 };
  /** Moving average (EWMA) of the response time. Infinity until the first response. */
  #averageMs = Infinity;

  constructor(options: BatcherOptions) {
    this.#options = options;
  }

  /** No upstream request is in flight: a new request is sent at once. */
  get isIdle(): boolean {
    return this.#inFlight.interactive + this.#inFlight.batch === 0;
  }

  /** Interactive requests do not wait because of batch requests in flight. */
  #isBusy(priority: Priority): boolean {
    const { interactive, batch } = this.#inFlight;
    const inFlight = priority === "interactive" ? interactive : interactive + batch;
    return inFlight >= this.#options.concurrency && this.#averageMs >= fastMs;
  }

  /** Sends a request at once, without a batch. */
  readonly send: EmbeddingsSend = (request) => {
    const { next, clock } = this.#options;
    const startedAt = clock();
    const response = next(request);
    const { priority } = request.context;
    this.#inFlight[priority]++;
    const onSettled = (): void => this.#onSettled(priority);
    // Both outcomes are handled here, so this is never an unhandled rejection; the returned promise still rejects.
    response.then(() => {
      const elapsed = clock() - startedAt;
      this.#averageMs =
        this.#averageMs === Infinity ? elapsed : this.#averageMs * 0.9 + elapsed * 0.1;
      onSettled();
    }, onSettled);
    return response;
  };

  /**
   * Adds the request to a batch. The batch is sent when the target is no longer busy, when the batch is full, or after
   * `maxWaitMs`.
   */
  enqueue(request: StageRequest<EmbeddingsQuery>): Promise<EmbeddingsResponse> {
    const { query, model, context } = request;
    const signal = request.signal();
    if (signal.aborted) return Promise.reject(signal.reason);
    const load = loadOf(query.input);
    // The request fills a batch by itself.
    if (!this.#hasCapacity(load, smallest)) return this.send(request);
    const key = compatibilityKey(query, context.priority);
    let batch = this.#pending.get(key);
    if (batch && batch.model !== model) return this.send(request);
    // The batch has no capacity for this request: the batch is sent now, and the request starts another one.
    if (batch && !this.#hasCapacity(batch, load)) {
      this.#flush(batch);
      batch = undefined;
    }
    return this.#add(request, load, batch ?? this.#open(key, model, context.priority));
  }

  #hasCapacity({ items, tokens, bytes, images }: RequestLoad, more: RequestLoad): boolean {
    const { limits } = this.#options;
    return (
      items + more.items <= limits.items &&
      tokens + more.tokens <= limits.tokens &&
      bytes + more.bytes <= limits.bytes &&
      images + more.images <= limits.images
    );
  }

  #open(key: string, model: PermittedModel, priority: Priority): PendingBatch {
    const flush = () => this.#flush(batch);
    // Requests of the same turn of the event loop form a batch without a wait.
    const timer = this.#isBusy(priority)
      ? setTimeout(flush, this.#options.maxWaitMs)
      : setImmediate(flush);
    const batch: PendingBatch = {
      key,
      model,
      priority,
      members: new Set(),
      timer,
      items: 0,
      tokens: 0,
      bytes: 0,
      images: 0,
      isQueued: true,
      onAborted: (member) => this.#drop(member, batch),
    };
    this.#pending.set(key, batch);
    return batch;
  }

  #add(
    request: StageRequest<EmbeddingsQuery>,
    load: RequestLoad,
    batch: PendingBatch,
  ): Promise<EmbeddingsResponse> {
    const member = new BatchMember(request, load);
    member.owner = batch;
    batch.members.add(member);
    batch.items += load.items;
    batch.tokens += load.tokens;
    batch.bytes += load.bytes;
    batch.images += load.images;
    if (!this.#hasCapacity(batch, smallest)) this.#flush(batch);
    return member.response;
  }

  #drop(member: BatchMember, batch: PendingBatch): void {
    batch.members.delete(member);
    batch.items -= member.load.items;
    batch.tokens -= member.load.tokens;
    batch.bytes -= member.load.bytes;
    batch.images -= member.load.images;
    if (batch.members.size === 0) this.#close(batch);
  }

  #close({ key, timer }: PendingBatch): void {
    clearTimeout(timer as never);
    clearImmediate(timer as never);
    this.#pending.delete(key);
  }

  #flush(batch: PendingBatch): void {
    this.#close(batch);
    if (batch.members.size > 1) this.#options.onBatch(batch.members.size);
    const { concurrency, clock } = this.#options;
    void sendBatch([...batch.members], this.send, concurrency, clock);
  }

  #onSettled(priority: Priority): void {
    this.#inFlight[priority]--;
    for (const batch of this.#pending.values())
      if (!this.#isBusy(batch.priority)) this.#flush(batch);
  }
}

const smallest: RequestLoad = { items: 1, tokens: 1, bytes: 1, images: 0 };

/** The keys of requests without parameters: most requests need no key of their own. */
const plainKeys: Readonly<Record<Priority, Readonly<Record<EmbeddingInput["kind"], string>>>> = {
  interactive: { text: "text", tokens: "tokens", mixed: "mixed" },
  batch: { text: "batch text", tokens: "batch tokens", mixed: "batch mixed" },
};

/**
 * Equal for requests that differ only in their inputs and in the encoding, which is applied per client. The priority is
 * part of the key: a batch queues for its target with the priority of its first request, and an interactive request in
 * a batch of batch requests would wait, and be shed, like a batch request (priority inversion).
 */
function compatibilityKey(
  { input, dimensions, taskType, outputType, user }: EmbeddingsQuery,
  priority: Priority,
): string {
  const plainKey = plainKeys[priority][input.kind];
  const hasOption = dimensions !== undefined || taskType !== undefined || outputType !== undefined;
  if (!hasOption && user === undefined) return plainKey;
  const { field, given } = taskType ?? {};
  return JSON.stringify([plainKey, dimensions, field, given, user, outputType?.type]);
}
