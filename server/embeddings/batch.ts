/** Small calls for a busy target travel together: one call to the upstream instead of many. An idle one sees no change. */
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
  /** May calls for this model travel together? */
  readonly enabled: (route: Route) => boolean;
  /** So many calls under way keep a target busy; below that, none waits. */
  readonly concurrency?: number;
  /** The longest a call waits for a lane. */
  readonly maxWaitMs?: number;
  /** The most inputs that travel together, where the target could take more. */
  readonly maxInputs?: number;
  /** A call with more inputs than this goes by itself. */
  readonly maxInputsPerRequest?: number;
  /** The most calls that wait before one target; the next goes by itself. */
  readonly maxQueued?: number;
  /** A target whose answers usually take less is never busy. */
  readonly fastMs?: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export const batch =
  ({
    capabilities: traits,
    enabled,
    concurrency: lanes = 4,
    maxWaitMs = 25,
    maxInputs: maxTogether = 64,
    maxInputsPerRequest: maxJoining = 16,
    maxQueued: maxWaiting = 1024,
    fastMs: quickMs = 5,
    clock,
  }: BatchOptions): Stage<EmbeddingsQuery, EmbeddingsResponse> =>
  (next) => {
    // Targets live in a snapshot: when that goes, so do their rooms.
    const rooms = new WeakMap<Target, Batcher>();
    const roomOf = (target: Target): Batcher => {
      const limits = limitsOf([traits(target)]);
      const items = Math.min(limits.items, maxTogether);
      const room = new Batcher({
        next,
        limits: { ...limits, items },
        concurrency: lanes,
        maxWaitMs,
        maxQueued: maxWaiting,
        fastMs: quickMs,
        clock,
      });
      rooms.set(target, room);
      return room;
    };
    return (call) => {
      const { target, query, route } = call;
      if (!target || !enabled(route)) return next(call);
      const room = rooms.get(target) ?? roomOf(target);
      // Two requests with passthrough fields may differ in what the fields mean, so neither joins a batch.
      const alone = !isEmptyObject(query.rest) || unsplittableReason(query, route) !== undefined;
      if (room.isIdle || itemsOf(query.input) > maxJoining || alone) {
        return room.send(call);
      }
      return room.enqueue(call);
    };
  };
