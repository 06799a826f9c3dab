/** What happens between a question and an upstream is a chain of stages, listed in `stack.ts`. */

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
  /** Where to, once a stage has chosen. */
  readonly target?: Target;
  readonly signal: AbortSignalLike;
  /** Where large things lie until the call is over. */
  readonly temp: RequestTemp;
  readonly record: RequestRecord;
  /** Of one attempt at a target that has limits: how it stood in line here, which says nothing about the target. */
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
  /** It still does. */
  isWaiting: boolean;
}

export type Send<Q, A> = (call: StageRequest<Q>) => Promise<A>;
/** The same, of which the answer may be there at once. */
export type Answering<Q, A> = (call: StageRequest<Q>) => Promise<A> | A;
export type Stage<Q, A> = (next: Send<Q, A>) => Send<Q, A>;

/** One that may have the answer itself. */
export type FirstStage<Q, A> = (next: Answering<Q, A>) => Answering<Q, A>;

/** Before all others. */
export const first = <Q, A>(
  stages: readonly FirstStage<Q, A>[],
  last: Answering<Q, A>,
): Answering<Q, A> => stages.reduceRight((next, stage) => stage(next), last);

export const through = <Q, A>(stages: readonly Stage<Q, A>[], last: Send<Q, A>): Send<Q, A> =>
  stages.reduceRight((next, stage) => stage(next), last);
