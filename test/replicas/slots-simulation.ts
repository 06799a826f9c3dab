/**
 * Replicas that share concurrency limits through a real Redis, in virtual time: each client of a replica sends one
 * request after the other. A call of Redis takes one step of the virtual time.
 */
import type { Limits } from "../../contract/limits-and-budgets.ts";
import { Admission } from "../../server/limits/admission.ts";
import { sharedRateLimitCounters } from "../../server/limits/rate-limit-counters.ts";
import type { Caller, PermittedModel } from "../../server/request/caller.ts";
import type { RedisConnection } from "../../server/storage/redis/client.ts";
import type { EmbeddingsQuery } from "../../server/upstream/contract.ts";
import { randomFrom } from "../fuzz/routing-simulation.ts";
import { type TestReplica, testReplicas } from "./test-replicas.ts";

export interface SlotsCase {
  readonly concurrent: number;
  /** The number of clients of each replica, which is the number of its requests in flight or queued. */
  readonly clients: readonly number[];
  /** Also limits the project, to the same number. */
  readonly withProject?: boolean;
  /** The shortest and the longest duration of a request. The default is 20 to 60. */
  readonly requestMs?: readonly [number, number];
}

export interface SlotsResult {
  /** The share of the slots that requests used, after the first second. */
  readonly utilization: number;
  readonly mostInFlight: number;
  /** The served requests of each replica. */
  readonly served: readonly number[];
  /** The longest time without a slot of a replica with waiting requests. */
  readonly longestWaitMs: number;
  readonly refused: number;
}

const renewMs = 2000;
/** A quarter of a lease in Redis. */
const maxRealMs = 750;
const warmUpMs = 1000;
/** The default of image requests. */
const queueTimeoutMs = 30_000;

const scopes = ["key:a", "project:a"];
const caller = { id: "a", name: "a", scopes } as unknown as Caller;
const model = { id: "m", kind: "embedding" } as unknown as PermittedModel;
const query: EmbeddingsQuery = {
  model: "m",
  input: { kind: "text", texts: ["a red boat"] },
  single: true,
  encoding: "float",
  extraFields: {},
};

/** The waiting requests of a replica. */
interface Waiting {
  count: number;
  /** When the first of them arrived, or the replica last got a slot. */
  since: number;
}

interface Timed {
  readonly at: number;
  fire(): void;
}

class SlotsSimulation {
  now = 0;
  readonly #case: SlotsCase;
  readonly #timed = new Set<Timed>();
  readonly #replicas: readonly TestReplica[];
  readonly #random = randomFrom(23);
  #inFlight = 0;
  #usedMs = 0;
  #mostInFlight = 0;
  #longestWaitMs = 0;
  #refused = 0;
  readonly #served: number[];
  readonly #waiting: readonly Waiting[];
  #renewedAt = performance.now();

  constructor(redis: RedisConnection, slotsCase: SlotsCase) {
    this.#case = slotsCase;
    const { clients } = slotsCase;
    this.#served = clients.map(() => 0);
    this.#waiting = clients.map(() => ({ count: 0, since: 0 }));
    this.#replicas = testReplicas(clients.length, { redis, now: () => this.now });
    const admissions = this.#replicas.map((replica) => this.#admissionOf(replica));
    for (const [at, admission] of admissions.entries()) {
      for (let client = 0; client < (clients[at] ?? 0); client++) void this.#send(admission, at);
    }
  }

  #after(ms: number, fire: () => void): Timed {
    const timed = { at: this.now + ms, fire };
    this.#timed.add(timed);
    return timed;
  }

  #admissionOf(replica: TestReplica): Admission {
    const { concurrent, withProject } = this.#case;
    const limits = new Map<string, Limits>([["key:a", { concurrent }]]);
    if (withProject) limits.set("project:a", { concurrent });
    return new Admission({
      counters: sharedRateLimitCounters(replica.limiter),
      shared: replica.limiter,
      snapshot: () => ({ limits }),
      maxImageRequests: 1,
      maxWaiting: 1000,
      queueTimeoutMs: { embedding: queueTimeoutMs, image: queueTimeoutMs },
      clock: () => this.now,
      timers: {
        start: (ms, fire) => this.#after(ms, fire),
        stop: (timer) => void this.#timed.delete(timer as Timed),
      },
    });
  }

  async #send(admission: Admission, at: number): Promise<void> {
    const waiting = this.#waiting[at] as Waiting;
    if (waiting.count++ === 0) waiting.since = this.now;
    const ticket = await admission
      .admit({
        caller,
        model,
        query,
        priority: "interactive",
        signal: () => new AbortController().signal,
      })
      .catch(() => undefined);
    const isServed = ticket !== undefined;
    waiting.count--;
    this.#countWait(waiting);
    if (isServed) waiting.since = this.now;
    if (isServed) {
      this.#inFlight++;
      this.#mostInFlight = Math.max(this.#mostInFlight, this.#inFlight);
    } else this.#refused++;
    const [shortest, longest] = this.#case.requestMs ?? [20, 60];
    this.#after(shortest + Math.floor(this.#random() * (longest - shortest)), () => {
      if (isServed) {
        this.#inFlight--;
        this.#served[at] = (this.#served[at] ?? 0) + 1;
        ticket.release({ usage: undefined, wasSent: true, error: undefined });
      }
      void this.#send(admission, at);
    });
  }

  #countWait({ since }: Waiting): void {
    this.#longestWaitMs = Math.max(this.#longestWaitMs, this.now - since);
  }

  advance(ms: number): void {
    if (this.now >= warmUpMs) this.#usedMs += this.#inFlight * ms;
    this.now += ms;
    for (const timed of this.#timed) {
      if (timed.at > this.now) continue;
      this.#timed.delete(timed);
      timed.fire();
    }
  }

  async settle(): Promise<void> {
    // Leases expire by the clock of Redis: on a busy machine, two virtual seconds take longer than a lease.
    const isDue = performance.now() - this.#renewedAt > maxRealMs;
    if (this.now % renewMs === 0 || isDue) {
      this.#renewedAt = performance.now();
      for (const { limiter } of this.#replicas) limiter.renew();
    }
    await Promise.all(this.#replicas.map((replica) => replica.settle()));
  }

  close(): SlotsResult {
    for (const waiting of this.#waiting) if (waiting.count > 0) this.#countWait(waiting);
    return {
      utilization: this.#usedMs / (this.#case.concurrent * (this.now - warmUpMs)),
      mostInFlight: this.#mostInFlight,
      served: this.#served,
      longestWaitMs: this.#longestWaitMs,
      refused: this.#refused,
    };
  }
}

/** Runs all cases at the same time, each with its own replicas. */
export async function simulateSlots(
  redis: RedisConnection,
  cases: readonly SlotsCase[],
  seconds: number,
): Promise<SlotsResult[]> {
  const simulations = cases.map((one) => new SlotsSimulation(redis, one));
  for (let ms = 0; ms < seconds * 1000; ms++) {
    for (const simulation of simulations) simulation.advance(1);
    await Bun.sleep(0);
    await Promise.all(simulations.map((simulation) => simulation.settle()));
  }
  return simulations.map((simulation) => simulation.close());
}
