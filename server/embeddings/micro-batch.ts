/**
 * Micro-batching stage: joins small requests to a target into one upstream request. At a busy target, requests wait for
 * the micro-batch, up to `maxWaitMs`. At a target that is neither idle nor busy, requests of the same turn of the event
 * loop are joined, without a wait; otherwise 32 connections with uncached texts take 2.5 times the upstream requests
 * and 1.1 times the CPU (`npm run bench -- --only uncached`). An idle target gets each request at once.
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
import { type EmbeddingsSend, type MemberOwner, MicroBatchMember } from "./micro-batch-member.ts";
import { needsConversion } from "./multimodal/image-refusal.ts";
import { sendMicroBatch } from "./send-micro-batch.ts";
import { itemsOf, strictestImageLimits, strictestLimits, unsplittableReason } from "./split.ts";

export interface MicroBatchOptions {
  readonly capabilities: (target: Target) => EmbeddingCapabilities;
  /** Whether requests for this model may be batched. */
  readonly enabled: (model: PermittedModel) => boolean;
  /** Kinds of upstreams that batch by themselves, such as built-in models: their models are not batched here. */
  readonly selfBatching?: Pick<ReadonlyMap<string, unknown>, "has">;
  /** With this many upstream requests in flight a target is busy; below that, no request waits. */
  readonly concurrency?: number;
  /** The longest time that a request waits to be batched. */
  readonly maxWaitMs?: number;
  /** Called with the number of requests of each micro-batch of at least two. */
  readonly onMicroBatch?: (requests: number) => void;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

/** The maximum batch size in inputs, even if the target takes more. */
const maxInputs = 64;
/** A request with more inputs is not batched. */
const maxInputsPerRequest = 16;
/**
 * A target whose responses usually take less is never busy: waiting for a micro-batch would cost more than it saves.
 */
const fastMs = 5;

export const microBatch =
  ({
    capabilities,
    enabled,
    selfBatching,
    concurrency = 4,
    maxWaitMs = 25,
    onMicroBatch = () => undefined,
    clock,
  }: MicroBatchOptions): Stage<EmbeddingsQuery, EmbeddingsResponse> =>
  (next) => {
    // Targets belong to a config snapshot: their batchers are garbage-collected with it.
    const batchers = new WeakMap<Target, MicroBatcher>();
    // Requests with images have other limits and latencies.
    const imageBatchers = new WeakMap<Target, MicroBatcher>();
    const createMicroBatcher = (target: Target, hasImages: boolean): MicroBatcher => {
      const own = [capabilities(target)];
      const limits = hasImages ? strictestImageLimits(own) : strictestLimits(own);
      const items = Math.min(limits.items, maxInputs);
      const batcher = new MicroBatcher({
        next,
        limits: { ...limits, items },
        concurrency,
        maxWaitMs,
        onMicroBatch,
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
        (hasImages ? imageBatchers : batchers).get(target) ?? createMicroBatcher(target, hasImages);
      // The passthrough fields of two requests may mean different things, so a request with such fields joins no
      // micro-batch.
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

interface MicroBatcherOptions
  extends Required<
    Pick<MicroBatchOptions, "concurrency" | "maxWaitMs" | "onMicroBatch" | "clock">
  > {
  readonly next: EmbeddingsSend;
  /** The most inputs, tokens and bytes of one micro-batch. */
  readonly limits: RequestLoad;
}

/** A micro-batch that is being filled: requests of one priority with equal parameters. */
interface PendingMicroBatch extends MemberOwner {
  readonly key: string;
  readonly model: PermittedModel;
  readonly priority: Priority;
  readonly members: Set<MicroBatchMember>;
  readonly timer: ReturnType<typeof setTimeout | typeof setImmediate>;
  items: number;
  tokens: number;
  bytes: number;
  images: number;
}

/**
 * Micro-batching for one target. While the target is busy, requests wait and are sent as one micro-batch; otherwise
 * only requests of the same turn of the event loop are joined, without a wait.
 */
class MicroBatcher {
  readonly #options: MicroBatcherOptions;
  /** In insertion order: the oldest micro-batch is sent first. Bounded by the requests in flight. */
  readonly #pending = new Map<string, PendingMicroBatch>();
  readonly #inFlight: Record<Priority, number> = { interactive: 0, batch: 0 };
  /** Moving average (EWMA) of the response time. Infinity until the first response. */
  #averageMs = Infinity;

  constructor(options: MicroBatcherOptions) {
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

  /** Sends a request at once, without a micro-batch. */
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
   * Adds the request to a micro-batch. It is sent when the target is no longer busy, when it is full, or after
   * `maxWaitMs`.
   */
  enqueue(request: StageRequest<EmbeddingsQuery>): Promise<EmbeddingsResponse> {
    const { query, model, context } = request;
    const signal = request.signal();
    if (signal.aborted) return Promise.reject(signal.reason);
    const load = loadOf(query.input);
    // The request fills a micro-batch by itself.
    if (!this.#hasCapacity(load, smallest)) return this.send(request);
    const key = compatibilityKey(query, context.priority);
    let microBatch = this.#pending.get(key);
    if (microBatch && microBatch.model !== model) return this.send(request);
    // The micro-batch has no capacity for this request: it is sent now, and the request starts another one.
    if (microBatch && !this.#hasCapacity(microBatch, load)) {
      this.#flush(microBatch);
      microBatch = undefined;
    }
    return this.#add(request, load, microBatch ?? this.#open(key, model, context.priority));
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

  #open(key: string, model: PermittedModel, priority: Priority): PendingMicroBatch {
    const flush = () => this.#flush(microBatch);
    // Requests of the same turn of the event loop form a micro-batch without a wait.
    const timer = this.#isBusy(priority)
      ? setTimeout(flush, this.#options.maxWaitMs)
      : setImmediate(flush);
    const microBatch: PendingMicroBatch = {
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
      onAborted: (member) => this.#drop(member, microBatch),
    };
    this.#pending.set(key, microBatch);
    return microBatch;
  }

  #add(
    request: StageRequest<EmbeddingsQuery>,
    load: RequestLoad,
    microBatch: PendingMicroBatch,
  ): Promise<EmbeddingsResponse> {
    const member = new MicroBatchMember(request, load);
    member.owner = microBatch;
    microBatch.members.add(member);
    microBatch.items += load.items;
    microBatch.tokens += load.tokens;
    microBatch.bytes += load.bytes;
    microBatch.images += load.images;
    if (!this.#hasCapacity(microBatch, smallest)) this.#flush(microBatch);
    return member.response;
  }

  #drop(member: MicroBatchMember, microBatch: PendingMicroBatch): void {
    microBatch.members.delete(member);
    microBatch.items -= member.load.items;
    microBatch.tokens -= member.load.tokens;
    microBatch.bytes -= member.load.bytes;
    microBatch.images -= member.load.images;
    if (microBatch.members.size === 0) this.#close(microBatch);
  }

  #close({ key, timer }: PendingMicroBatch): void {
    clearTimeout(timer as never);
    clearImmediate(timer as never);
    this.#pending.delete(key);
  }

  #flush(microBatch: PendingMicroBatch): void {
    this.#close(microBatch);
    if (microBatch.members.size > 1) this.#options.onMicroBatch(microBatch.members.size);
    const { concurrency, clock } = this.#options;
    void sendMicroBatch([...microBatch.members], this.send, concurrency, clock);
  }

  #onSettled(priority: Priority): void {
    this.#inFlight[priority]--;
    for (const microBatch of this.#pending.values())
      if (!this.#isBusy(microBatch.priority)) this.#flush(microBatch);
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
 * part of the key: a micro-batch queues for its target with the priority of its first request, and an interactive
 * request in a micro-batch of batch requests would wait, and be shed, like a batch request (priority inversion).
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
