/**
 * Micro-batching stage: joins small requests to a busy target into one upstream request. An idle target gets each
 * request at once.
 */
import { isEmptyObject } from "../lib/is-empty-object.ts";
import type { Route } from "../request/caller.ts";
import { itemsOf, limitsOf } from "../request/request-load.ts";
import type { Stage } from "../request/stage.ts";
import type {
  EmbeddingCapabilities,
  EmbeddingsQuery,
  EmbeddingsResponse,
  Target,
} from "../upstream/contract.ts";
import { Batcher } from "./batcher.ts";
import { unsplittableReason } from "./unsplittable.ts";

export interface BatchOptions {
  readonly capabilities: (target: Target) => EmbeddingCapabilities;
  /** Whether requests for this model may be batched. */
  readonly enabled: (route: Route) => boolean;
  /** With this many upstream requests in flight a target is busy; below that, no request waits. */
  readonly concurrency?: number;
  /** The longest time that a request waits to be batched. */
  readonly maxWaitMs?: number;
  /** The most inputs of one batch, even if the target takes more. */
  readonly maxInputs?: number;
  /** A request with more inputs is not batched. */
  readonly maxInputsPerRequest?: number;
  /** The most requests that wait for one target; further requests are not batched. */
  readonly maxQueued?: number;
  /** A target whose responses usually take less is never busy. */
  readonly fastMs?: number;
  /** Called with the number of requests of each batch of at least two. */
  readonly onBatch?: (requests: number) => void;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export const batch =
  ({
    capabilities,
    enabled,
    concurrency = 4,
    maxWaitMs = 25,
    maxInputs = 64,
    maxInputsPerRequest = 16,
    maxQueued = 1024,
    fastMs = 5,
    onBatch = () => undefined,
    clock,
  }: BatchOptions): Stage<EmbeddingsQuery, EmbeddingsResponse> =>
  (next) => {
    // Targets belong to a config snapshot: their batchers are collected with it.
    const batchers = new WeakMap<Target, Batcher>();
    const createBatcher = (target: Target): Batcher => {
      const limits = limitsOf([capabilities(target)]);
      const items = Math.min(limits.items, maxInputs);
      const batcher = new Batcher({
        next,
        limits: { ...limits, items },
        concurrency,
        maxWaitMs,
        maxQueued,
        fastMs,
        onBatch,
        clock,
      });
      batchers.set(target, batcher);
      return batcher;
    };
    return (request) => {
      const { target, query, route } = request;
      if (!target || !enabled(route)) return next(request);
      const batcher = batchers.get(target) ?? createBatcher(target);
      // The passthrough fields of two requests may mean different things, so a request with such fields joins no batch.
      const isUnbatchable =
        !isEmptyObject(query.extraFields) || unsplittableReason(query, route) !== undefined;
      if (batcher.isIdle || itemsOf(query.input) > maxInputsPerRequest || isUnbatchable) {
        return batcher.send(request);
      }
      return batcher.enqueue(request);
    };
  };
