/**
 * Simulation of admission in virtual time: keys, projects and models with limits; requests that arrive, end and are
 * canceled.
 */
import { expect } from "bun:test";
import type { Limits } from "../../contract/limits-and-budgets.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { Admission, type AdmissionTicket } from "../../server/limits/admission.ts";
import type { LimitScope } from "../../server/limits/limiter.ts";
import {
  type Demand,
  localRateLimitCounters,
  type Rate,
  rates,
} from "../../server/limits/rate-limit-counters.ts";
import type { Caller, PermittedModel } from "../../server/request/caller.ts";
import { tries } from "../depth.ts";
import { ExactCount } from "./exact-count.ts";
import { demandOf, difference, limitOf, queryOf, type RequestPlan } from "./limits-requests.ts";

/** The same on every run; set another one to explore further: VEXEL_FUZZ_SEED=1 npm test -- test/fuzz */
const seed = Number(process.env.VEXEL_FUZZ_SEED ?? 20_261_115);
export const runs = (count: number) => ({ seed, ...tries(count) });

export interface Plan {
  readonly limits: Readonly<Record<string, Limits>>;
  readonly maxWaiting: number;
  readonly maxImageCalls: number;
}

type Ended = "refused" | "late" | "full" | "disconnected" | "done";

export class SimulatedRequest {
  readonly plan: RequestPlan;
  readonly scopes: readonly string[];
  readonly signal = new AbortController();
  readonly came: number;
  pass: AdmissionTicket | undefined;
  error: GatewayError | undefined;
  ended: Ended | undefined;
  /** Its actual usage, once it has ended. */
  used: Demand | undefined;

  constructor(plan: RequestPlan, scopes: readonly string[], came: number) {
    this.plan = plan;
    this.scopes = scopes;
    this.came = came;
  }

  get waits(): boolean {
    return this.pass === undefined && this.ended === undefined;
  }

  get works(): boolean {
    return this.pass !== undefined && this.ended === undefined;
  }
}

const waitMs = { embedding: 5000, image: 30_000 };
const queue: PermittedModel["kind"][] = ["embedding", "image"];

interface SimulatedTimer {
  readonly at: number;
  fire(): void;
}

export class LimitsSimulation {
  readonly requests: SimulatedRequest[] = [];
  readonly admission: Admission;
  readonly plan: Plan;
  #limits: ReadonlyMap<string, Limits>;
  readonly #timers = new Set<SimulatedTimer>();
  /** The time of the timers, which never goes back. */
  #elapsed = 0;
  #exact = new Map<string, Map<Rate, ExactCount>>();
  /** The time of the gateway's clock, and the sum of its forward steps. */
  now = 1_000_000.25;
  passed = 0;

  constructor(plan: Plan) {
    this.plan = plan;
    this.#limits = new Map(Object.entries(plan.limits));
    this.admission = new Admission({
      counters: localRateLimitCounters,
      snapshot: () => ({ limits: this.#limits }),
      maxImageRequests: plan.maxImageCalls,
      maxWaiting: plan.maxWaiting,
      queueTimeoutMs: waitMs,
      clock: () => this.now,
      timers: {
        start: (ms, fire) => {
          const timer = { at: this.#elapsed + ms, fire };
          this.#timers.add(timer);
          return timer;
        },
        stop: (timer) => void this.#timers.delete(timer as SimulatedTimer),
      },
    });
  }

  /** The gateway's buckets equal the exact counts. */
  expectExact(): void {
    for (const [id, counts] of this.#counts()) {
      for (const [rate, count] of counts) {
        const bucket = this.scope(id)?.bucket(rate);
        expect(`${id} ${rate} ${bucket?.remaining(this.now)}`).toBe(`${id} ${rate} ${count.whole}`);
      }
    }
  }

  /** Valid until the first reload. */
  #counts(): Map<string, Map<Rate, ExactCount>> {
    if (this.#exact.size === 0 && this.requests.length === 0) {
      for (const [id, limits] of this.#limits) {
        const counts = new Map<Rate, ExactCount>();
        for (const rate of rates) {
          const limit = limitOf(limits, rate);
          if (limit !== undefined) counts.set(rate, new ExactCount(limit, this.now));
        }
        this.#exact.set(id, counts);
      }
    }
    return this.#exact;
  }

  #take(scopes: readonly string[], demand: Demand, sign: 1 | -1): void {
    for (const id of scopes) {
      for (const [rate, count] of this.#counts().get(id) ?? []) count.take(sign * demand[rate]);
    }
  }

  limitsOf(id: string): Limits {
    return this.#limits.get(id) ?? {};
  }

  scope(id: string): LimitScope | undefined {
    return this.admission.scopesOf([id])[0];
  }

  /** Keys 0 and 1 share a project; each key and model has a scope ID, whether it has limits or not. */
  async arrive(plan: RequestPlan): Promise<SimulatedRequest> {
    const { key, model, images } = plan;
    const scopes = [`key:${key}`, ...(key < 2 ? ["project:p"] : []), `model:${model}`];
    const request = new SimulatedRequest(plan, scopes, this.now);
    const demand = demandOf(plan);
    const short = scopes.some((id) =>
      [...(this.#counts().get(id) ?? [])].some(([rate, count]) => !count.has(demand[rate])),
    );
    this.requests.push(request);
    if (!short) this.#take(scopes, demand, 1);
    const kind = queue[images > 0 ? 1 : 0];
    this.admission
      .admit({
        caller: { id: `${key}`, name: `${key}`, scopes: scopes.slice(0, -1) } as unknown as Caller,
        model: { id: `${model}`, kind, scopes: scopes.slice(-1) } as unknown as PermittedModel,
        query: queryOf(plan),
        priority: "interactive",
        signal: () => request.signal.signal,
      })
      .then(
        (pass) => {
          request.pass = pass;
        },
        (error: unknown) => this.#refuse(request, error),
      );
    await settled();
    const { kind: errorKind } = request.error ?? {};
    const refused = errorKind === "rate_limited" || errorKind === "larger_than_limit";
    if (this.#exact.size > 0) expect(refused).toBe(short);
    return request;
  }

  /** `factor`: actual usage divided by the estimate. Undefined: it failed, and used nothing. */
  async finish(request: SimulatedRequest, factor: number | undefined): Promise<void> {
    const { tokens, images } = request.plan;
    const error = factor === undefined ? new GatewayError("upstream_rejected", "no") : undefined;
    const usage =
      factor === undefined
        ? undefined
        : { inputTokens: Math.floor(tokens * factor), ...(images > 0 && { images }) };
    request.ended = "done";
    const { requests, pixels } = demandOf(request.plan);
    request.used =
      factor === undefined
        ? { requests, tokens: 0, images: 0, pixels: 0 }
        : { requests, tokens: Math.floor(tokens * factor), images, pixels };
    this.#take(request.scopes, difference(request.used, demandOf(request.plan)), 1);
    request.pass?.release({ usage, wasSent: true, error });
    await settled();
  }

  async disconnect(request: SimulatedRequest): Promise<void> {
    request.signal.abort();
    await settled();
  }

  async advance(ms: number): Promise<void> {
    this.passed += Math.max(0, Math.floor(this.now + ms) - Math.floor(this.now));
    this.now += ms;
    for (const counts of this.#counts().values()) {
      for (const count of counts.values()) count.check(this.now);
    }
    // Every bucket sees every step of the clock.
    for (const id of this.#limits.keys()) {
      for (const rate of rates) this.scope(id)?.bucket(rate)?.remaining(this.now);
    }
    this.#elapsed += Math.max(0, ms);
    for (const timer of this.#timers) {
      if (timer.at > this.#elapsed) continue;
      this.#timers.delete(timer);
      timer.fire();
    }
    await settled();
  }

  async reload(limits: Readonly<Record<string, Limits>>): Promise<void> {
    this.#exact.clear();
    this.#limits = new Map(Object.entries(limits));
    this.admission.scopesOf([]);
    await settled();
  }

  /**
   * The expected usage: estimates of unfinished requests, actual usage of finished ones, nothing for those without a
   * slot.
   */
  used(id: string, rate: Rate): number {
    let sum = 0;
    for (const { plan, scopes, ended, used } of this.requests) {
      if (!scopes.includes(id) || (ended !== undefined && ended !== "done")) continue;
      sum += (used ?? demandOf(plan))[rate];
    }
    return sum;
  }

  get waiting(): SimulatedRequest[] {
    return this.requests.filter(({ waits }) => waits);
  }

  get working(): SimulatedRequest[] {
    return this.requests.filter(({ works }) => works);
  }

  /** No request is queued that could be admitted. With few requests no slot is ever held for a starved one. */
  expectReasons(): void {
    const imageList = this.working.filter(({ plan: { images } }) => images > 0).length;
    for (const { scopes, plan } of this.waiting) {
      const full = scopes.some((id) => this.scope(id)?.slots.hasFreeSlot === false);
      expect(full || (plan.images > 0 && imageList >= this.plan.maxImageCalls)).toBeTrue();
    }
  }

  /** Runs until no request is left: each queued one is admitted or times out. */
  async end(): Promise<void> {
    for (let round = 0; this.requests.some(({ ended }) => !ended); round++) {
      if (round > 1000) throw new Error("some wait for ever");
      for (const request of this.working) await this.finish(request, 1);
      await this.advance(1000);
    }
    for (const id of this.#limits.keys()) {
      expect(this.scope(id)?.slots).toMatchObject({ inFlight: 0, waiting: 0 });
    }
  }

  #refuse(request: SimulatedRequest, error: unknown): void {
    if (!(error instanceof GatewayError)) throw error;
    request.error = error;
    const withoutSlot = error.kind === "queue_full" || error.kind === "client_closed";
    if (withoutSlot) this.#take(request.scopes, demandOf(request.plan), -1);
    if (error.kind === "client_closed") request.ended = "disconnected";
    else if (error.kind !== "queue_full") request.ended = "refused";
    else request.ended = this.now > request.came ? "late" : "full";
  }
}

/** Runs the promise continuations of the last step. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 12; turn++) await null;
}
