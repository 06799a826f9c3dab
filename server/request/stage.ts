/** Stages: functions `next => request => response` between a query and its upstream, listed in `server/pipeline/stages.ts`. */

import type { AbortSignalLike } from "../lib/abort-signal.ts";
import type { RequestTemp } from "../lib/request-temp.ts";
import type { Target } from "../upstream/contract.ts";
import type { Route } from "./caller.ts";
import type { Operation } from "./operation.ts";
import type { RequestRecord } from "./request-record.ts";

export interface StageRequest<Q> {
  readonly operation: Operation;
  readonly query: Q;
  readonly route: Route;
  /** The target, once a stage has selected it. */
  readonly target?: Target;
  readonly signal: AbortSignalLike;
  /** Temp storage for large values, until the request ends. */
  readonly temp: RequestTemp;
  readonly record: RequestRecord;
  /** The queue wait of one attempt at a target with limits: it says nothing about the latency of the target. */
  readonly queueWait?: QueueWait;
  /** Of pictures: who was asked for them, so that others may be asked for what is missing. */
  readonly order?: Order;
}

export interface Order {
  /** They are not asked for the rest. */
  readonly asked: Set<Target>;
  /** How many pictures were asked for. */
  pictures: number;
  /** What kept those that were asked from making these. Absent: nobody was asked yet. */
  readonly failure?: { readonly error: unknown };
}

export interface QueueWait {
  ms: number;
  /** The attempt is still queued. */
  isWaiting: boolean;
}

export type Send<Q, A> = (request: StageRequest<Q>) => Promise<A>;
export type Stage<Q, A> = (next: Send<Q, A>) => Send<Q, A>;

/** The stages in order, with `last` as what the last of them calls. */
export const composeStages = <Q, A>(stages: readonly Stage<Q, A>[], last: Send<Q, A>): Send<Q, A> =>
  stages.reduceRight((next, stage) => stage(next), last);
