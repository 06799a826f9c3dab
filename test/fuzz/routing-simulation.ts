/** Simulation of the routing stage in virtual time: scripted targets, clients, and the real stage between them. */
import type { ErrorKind } from "../../contract/errors.ts";
import { type ErrorDetails, GatewayError } from "../../server/lib/gateway-error.ts";
import type { Timers } from "../../server/lib/timers.ts";
import { Admission } from "../../server/limits/admission.ts";
import { localRateLimitCounters } from "../../server/limits/rate-limit-counters.ts";
import type { PermittedModel } from "../../server/request/caller.ts";
import { requestSizeClassOf } from "../../server/routing/health/latency-stats.ts";
import type { TargetChange, TargetHealth } from "../../server/routing/health/target-health.ts";
import { routeRequest } from "../../server/routing/route-request.ts";
import { targetQueue } from "../../server/routing/routing-options.ts";
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

/** Deterministic pseudo-random numbers from a seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** Virtual time: jumps from one timer to the next (discrete event simulation). */
export class VirtualTime implements Timers {
  /** The offset of the clock that the code reads. */
  skew = 0;
  readonly #steps: number;
  #now = 0;
  #order = 0;
  readonly #queue: {
    readonly at: number;
    readonly order: number;
    fire: (() => void) | undefined;
  }[] = [];

  /** `steps`: at least as many as a promise chain between two timers has. */
  constructor(steps = 25) {
    this.#steps = steps;
  }

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

  /** Runs until no timer is left. */
  run(): Promise<void> {
    return this.advanceUntil(() => false);
  }

  /** Runs until it is done, or no timer is left. */
  async advanceUntil(isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      const next = this.#queue.shift();
      if (!next) return;
      if (!next.fire) continue;
      this.#now = next.at;
      next.fire();
      for (let step = 0; step < this.#steps; step++) await undefined;
    }
  }
}

/** Admission whose queue waits in virtual time. It has no other limits. */
const admissionIn = (time: VirtualTime): Admission =>
  new Admission({
    counters: localRateLimitCounters,
    snapshot: () => ({}),
    maxImageRequests: 1000,
    maxWaiting: 10_000,
    queueTimeoutMs: { embedding: 5000, image: 30_000 },
    clock: time.clock,
    timers: time,
  });

/** What a target does with a request that arrives now. */
export type TargetBehavior =
  | { readonly kind: "well"; readonly ms: number }
  | {
      readonly kind: "fails";
      readonly share: number;
      readonly ms: number;
      readonly errorKind: ErrorKind;
    }
  | { readonly kind: "gone" }
  | { readonly kind: "hangs" }
  | { readonly kind: "limited"; readonly retryAfterMs?: number };

interface UpstreamAttempt {
  readonly at: number;
  readonly target: Target;
  readonly request: EmbeddingsRequest;
  readonly behavior: TargetBehavior["kind"];
  /** Set if it failed. */
  error?: GatewayError;
}

interface SimulatedOutcome {
  readonly startedAt: number;
  readonly endedAt: number;
  readonly errorKind: ErrorKind | "defect" | undefined;
  readonly retryAfterMs: number | undefined;
  readonly request: CountedRequest;
}

export interface RoutingSimulationOptions {
  readonly seed: number;
  readonly model: PermittedModel;
  readonly behaviorOf: (target: Target, now: number) => TargetBehavior;
  readonly deadlineMs?: number;
  /** Clients disconnect after this long. If absent, they wait for the deadline. */
  readonly clientTimeoutMs?: number;
  readonly operation?: "embeddings" | "generations";
  /** True: no request queues for a target at its hard limit. */
  readonly noQueue?: true;
  /** The result of the free health check of image targets. If absent, a target that accepts connections is up. */
  readonly isUp?: (target: Target, now: number) => boolean;
}

export class RoutingSimulation {
  readonly time = new VirtualTime();
  readonly attempts: UpstreamAttempt[] = [];
  readonly outcomes: SimulatedOutcome[] = [];
  readonly changes: (TargetChange & { readonly at: number })[] = [];
  readonly random: () => number;
  readonly registry: TargetRegistry;
  requestCount = 0;
  readonly #options: RoutingSimulationOptions;
  readonly #send: EmbeddingsSend;

  constructor(options: RoutingSimulationOptions) {
    this.#options = options;
    this.random = randomFrom(options.seed);
    this.registry = new TargetRegistry({
      snapshot: () => ({ models: new Map([[options.model.id, options.model]]) }),
      clock: this.time.clock,
      random: this.random,
      timers: this.time,
      onTargetChange: (change) => this.changes.push({ ...change, at: this.time.now() }),
    });
    const isImage = options.operation === "generations";
    const stage = routeRequest<EmbeddingsQuery, EmbeddingsResponse>({
      registry: this.registry,
      ...(!options.noQueue && { queue: targetQueue(admissionIn(this.time)) }),
      ...(isImage ? { checkHealth: this.#checkHealth } : { sizeClassOf: requestSizeClassOf }),
    });
    this.#send = stage(this.#visit);
  }

  /** The health of the model's targets. */
  get targets(): readonly TargetHealth[] {
    return this.registry.targetsFor(this.#options.model).peers;
  }

  /** Sends a request now. Its end is added to `outcomes`, and then `then` is called. */
  sendRequest(then?: () => void): void {
    const { model, deadlineMs = 30_000, clientTimeoutMs, operation = "embeddings" } = this.#options;
    const startedAt = this.time.now();
    const request = { ...requestFor(["x"], model), operation };
    this.requestCount++;
    const timer = this.time.start(deadlineMs, () =>
      request.client.abort(new GatewayError("upstream_timeout", "too late")),
    );
    const disconnectTimer =
      clientTimeoutMs !== undefined &&
      this.time.start(clientTimeoutMs, () =>
        request.client.abort(new GatewayError("client_closed", "gone")),
      );
    const end = (error?: unknown): void => {
      this.time.stop(timer);
      this.time.stop(disconnectTimer);
      const gatewayError = error instanceof GatewayError ? error : undefined;
      this.outcomes.push({
        startedAt,
        endedAt: this.time.now(),
        errorKind: error === undefined ? undefined : (gatewayError?.kind ?? "defect"),
        retryAfterMs: gatewayError?.details.retryAfterMs,
        request,
      });
      then?.();
    };
    this.#send(request).then(() => end(), end);
  }

  /** Sends requests at random times (a Poisson process). */
  steady(fromMs: number, toMs: number, perSecond: number): void {
    let at = fromMs;
    for (;;) {
      at += (-Math.log(1 - this.random()) * 1000) / perSecond;
      if (at >= toMs) return;
      this.time.start(at, () => this.sendRequest());
    }
  }

  /** Clients that each send the next request 20 ms after the last response. */
  loop(clients: number, fromMs: number, toMs: number): void {
    const again = (): void => {
      if (this.time.now() < toMs) this.sendRequest(() => this.time.start(20, again));
    };
    for (let each = 0; each < clients; each++) this.time.start(fromMs + each, again);
  }

  /** Attempts that reached a target. */
  get sent(): number {
    return this.attempts.filter(({ behavior }) => behavior !== "gone").length;
  }

  /** The number of health checks so far. */
  healthChecks = 0;
  readonly #checkHealth = async (target: Target): Promise<boolean> => {
    const { isUp, behaviorOf } = this.#options;
    this.healthChecks++;
    const now = this.time.now();
    const { kind } = behaviorOf(target, now);
    return isUp ? isUp(target, now) : kind !== "gone" && kind !== "hangs";
  };

  readonly #visit: EmbeddingsSend = (request) => {
    const { promise, resolve, reject } = Promise.withResolvers<ReturnType<typeof responseTo>>();
    const target = request.target as Target;
    const behavior = this.#options.behaviorOf(target, this.time.now());
    const attempt: UpstreamAttempt = {
      at: this.time.now(),
      target,
      request,
      behavior: behavior.kind,
    };
    this.attempts.push(attempt);
    promise.catch((error: GatewayError) => {
      attempt.error = error;
    });
    const onAbort = (): void => {
      this.time.stop(timer);
      reject(request.signal().reason);
    };
    const removeListener = (): void => request.signal().removeEventListener("abort", onAbort);
    const { timer } = this.#act(behavior, () => resolve(responseTo(request)), reject);
    request.signal().addEventListener("abort", onAbort);
    promise.then(removeListener, removeListener);
    return promise;
  };

  #act(
    behavior: TargetBehavior,
    respond: () => void,
    reject: (error: unknown) => void,
  ): { timer: unknown } {
    const after = (ms: number, then: () => void) => ({
      timer: this.time.start(ms * (0.5 + this.random()), then),
    });
    const fail = (name: ErrorKind, details: ErrorDetails = {}) =>
      reject(new GatewayError(name, "no", details));
    switch (behavior.kind) {
      case "well":
        return after(behavior.ms, respond);
      case "fails":
        return after(
          behavior.ms,
          this.random() < behavior.share ? () => fail(behavior.errorKind) : respond,
        );
      case "gone":
        return after(1, () => fail("upstream_unreachable", { notSent: true }));
      case "hangs":
        return { timer: undefined };
      case "limited": {
        const { retryAfterMs } = behavior;
        return after(5, () =>
          fail("upstream_rate_limit", retryAfterMs === undefined ? {} : { retryAfterMs }),
        );
      }
    }
  }
}
