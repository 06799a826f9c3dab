/** A world with a time of its own: targets that behave as told from moment to moment, callers, and the real stage between. */
import type { ErrorKind } from "../../contract/errors.ts";
import { type ErrorDetails, GatewayError } from "../../server/lib/gateway-error.ts";
import type { Timers } from "../../server/lib/timers.ts";
import { Admission } from "../../server/limits/admission.ts";
import type { Route } from "../../server/request/caller.ts";
import type { TargetChange } from "../../server/routing/health/target-health.ts";
import { sizeClassOf } from "../../server/routing/request-size.ts";
import { routeRequest } from "../../server/routing/route-request.ts";
import { targetQueue } from "../../server/routing/target-capacity.ts";
import { TargetRegistry } from "../../server/routing/target-registry.ts";
import type {
  EmbeddingsQuery,
  EmbeddingsResponse,
  Target,
} from "../../server/upstream/contract.ts";
import {
  type CountedRequest,
  type EmbeddingsRequest,
  type EmbeddingsSend,
  requestFor,
  responseTo,
} from "../embeddings/stage-fixture.ts";

/** The same numbers for the same seed, everywhere (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** Time passes from one thing that happens to the next, and not between. */
export class VirtualTime implements Timers {
  /** How far the clocks that are read differ from the time that passes. */
  skew = 0;
  #now = 0;
  #order = 0;
  readonly #queue: {
    readonly at: number;
    readonly order: number;
    fire: (() => void) | undefined;
  }[] = [];

  readonly now = (): number => this.#now;
  readonly clock = (): number => this.#now + this.skew;

  start(ms: number, fire: () => void): unknown {
    const entry = { at: this.#now + Math.max(0, ms), order: this.#order++, fire };
    let [low, high] = [0, this.#queue.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const other = this.#queue[middle]!;
      if (other.at < entry.at || (other.at === entry.at && other.order < entry.order)) {
        low = middle + 1;
      } else high = middle;
    }
    this.#queue.splice(low, 0, entry);
    return entry;
  }

  stop(timer: unknown): void {
    if (timer) (timer as { fire: undefined }).fire = undefined;
  }

  /** Until nothing more will happen. */
  async run(): Promise<void> {
    for (let next = this.#queue.shift(); next; next = this.#queue.shift()) {
      if (!next.fire) continue;
      this.#now = next.at;
      next.fire();
      await drained();
    }
  }
}

/** Who waits for a place does so in this time. Nothing else is limited. */
function admissionIn(time: VirtualTime): Admission {
  const repeat = (look: () => void): (() => void) => {
    let timer: unknown;
    const again = (): void => {
      timer = time.start(50, again);
      look();
    };
    timer = time.start(50, again);
    return () => time.stop(timer);
  };
  return new Admission({
    ...{ snapshot: () => ({}), maxImageRequests: 1000, maxWaiting: 10_000 },
    ...{ queueTimeoutMs: { embedding: 5000, image: 30_000 }, clock: time.clock, repeat },
  });
}

/** More steps than any chain of promises between two happenings has. */
async function drained(): Promise<void> {
  for (let step = 0; step < 25; step++) await undefined;
}

/** What a target does with a call that comes now. */
export type Mood =
  | { readonly kind: "well"; readonly ms: number }
  | {
      readonly kind: "fails";
      readonly share: number;
      readonly ms: number;
      readonly fault: ErrorKind;
    }
  | { readonly kind: "gone" }
  | { readonly kind: "hangs" }
  | { readonly kind: "limited"; readonly retryAfterMs?: number };

export interface Visit {
  readonly at: number;
  readonly target: Target;
  readonly call: EmbeddingsRequest;
  readonly mood: Mood["kind"];
  /** What came of it, where nothing good did. */
  error?: GatewayError;
}

export interface Outcome {
  readonly began: number;
  readonly ended: number;
  readonly fault: ErrorKind | "defect" | undefined;
  readonly retryAfterMs: number | undefined;
  readonly call: CountedRequest;
}

export interface WorldOptions {
  readonly seed: number;
  readonly route: Route;
  readonly moodOf: (target: Target, now: number) => Mood;
  readonly deadlineMs?: number;
  /** Callers hang up after so long. Absent: they wait for the deadline. */
  readonly leaveMs?: number;
  readonly operation?: "embeddings" | "generations";
  /** True: nobody waits for a target that has as much as it can take. */
  readonly open?: true;
  /** What a question that costs nothing shows, of pictures. Absent: whoever takes connections is there. */
  readonly isThere?: (target: Target, now: number) => boolean;
}

export class World {
  readonly time = new VirtualTime();
  readonly visits: Visit[] = [];
  readonly outcomes: Outcome[] = [];
  readonly news: (TargetChange & { readonly at: number })[] = [];
  readonly random: () => number;
  readonly roster: TargetRegistry;
  calls = 0;
  readonly #options: WorldOptions;
  readonly #send: EmbeddingsSend;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.random = randomFrom(options.seed);
    this.roster = new TargetRegistry({
      snapshot: () => ({ models: new Map([[options.route.id, options.route]]) }),
      clock: this.time.clock,
      random: this.random,
      timers: this.time,
      onTargetChange: (news) => this.news.push({ ...news, at: this.time.now() }),
    });
    const isPicture = options.operation === "generations";
    const stage = routeRequest<EmbeddingsQuery, EmbeddingsResponse>({
      registry: this.roster,
      ...(!options.open && { queue: targetQueue(admissionIn(this.time)) }),
      ...(isPicture ? { checkHealth: this.#isThere } : { sizeClassOf }),
    });
    this.#send = stage(this.#visit);
  }

  /** Now. It ends in `outcomes`; then something may follow. */
  call(then?: () => void): void {
    const { route, deadlineMs = 30_000, leaveMs, operation = "embeddings" } = this.#options;
    const began = this.time.now();
    const call = { ...requestFor(["x"], route), operation };
    this.calls++;
    const timer = this.time.start(deadlineMs, () =>
      call.signal.abort(new GatewayError("upstream_timeout", "too late")),
    );
    const leaving =
      leaveMs !== undefined &&
      this.time.start(leaveMs, () => call.signal.abort(new GatewayError("client_closed", "gone")));
    const end = (error?: unknown): void => {
      this.time.stop(timer);
      this.time.stop(leaving);
      const known = error instanceof GatewayError ? error : undefined;
      this.outcomes.push({
        began,
        ended: this.time.now(),
        fault: error === undefined ? undefined : (known?.kind ?? "defect"),
        retryAfterMs: known?.details.retryAfterMs,
        call,
      });
      then?.();
    };
    this.#send(call).then(() => end(), end);
  }

  /** So many calls a second, at random moments. */
  steady(fromMs: number, toMs: number, perSecond: number): void {
    let at = fromMs;
    for (;;) {
      at += (-Math.log(1 - this.random()) * 1000) / perSecond;
      if (at >= toMs) return;
      this.time.start(at, () => this.call());
    }
  }

  /** So many callers, each of whom calls again a moment after the last answer. */
  loop(callers: number, fromMs: number, toMs: number): void {
    const again = (): void => {
      if (this.time.now() < toMs) this.call(() => this.time.start(20, again));
    };
    for (let each = 0; each < callers; each++) this.time.start(fromMs + each, again);
  }

  /** Calls that reached somebody. */
  get sent(): number {
    return this.visits.filter(({ mood }) => mood !== "gone").length;
  }

  /** Free questions so far. */
  looks = 0;
  readonly #isThere = async (target: Target): Promise<boolean> => {
    const { isThere, moodOf } = this.#options;
    this.looks++;
    const now = this.time.now();
    const { kind } = moodOf(target, now);
    return isThere ? isThere(target, now) : kind !== "gone" && kind !== "hangs";
  };

  readonly #visit: EmbeddingsSend = (call) => {
    const { promise, resolve, reject } = Promise.withResolvers<ReturnType<typeof responseTo>>();
    const target = call.target as Target;
    const mood = this.#options.moodOf(target, this.time.now());
    const visit: Visit = { at: this.time.now(), target, call, mood: mood.kind };
    this.visits.push(visit);
    promise.catch((error: GatewayError) => {
      visit.error = error;
    });
    const leave = (): void => {
      this.time.stop(timer);
      reject(call.signal.reason);
    };
    const over = (): void => call.signal.removeEventListener("abort", leave);
    const { timer } = this.#act(mood, () => resolve(responseTo(call)), reject);
    call.signal.addEventListener("abort", leave);
    promise.then(over, over);
    return promise;
  };

  #act(mood: Mood, answer: () => void, reject: (error: unknown) => void): { timer: unknown } {
    const after = (ms: number, then: () => void) => ({
      timer: this.time.start(ms * (0.5 + this.random()), then),
    });
    const fail = (name: ErrorKind, details: ErrorDetails = {}) =>
      reject(new GatewayError(name, "no", details));
    switch (mood.kind) {
      case "well":
        return after(mood.ms, answer);
      case "fails":
        return after(mood.ms, this.random() < mood.share ? () => fail(mood.fault) : answer);
      case "gone":
        return after(1, () => fail("upstream_unreachable", { notSent: true }));
      case "hangs":
        return { timer: undefined };
      case "limited": {
        const { retryAfterMs } = mood;
        return after(5, () =>
          fail("upstream_rate_limit", retryAfterMs === undefined ? {} : { retryAfterMs }),
        );
      }
    }
  }
}
