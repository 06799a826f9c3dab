/** A target above its capacity is slow, not down: its clients wait, and no request is refused. */
import { expect, test } from "bun:test";
import type { Timers } from "../../server/lib/timers.ts";
import { routeRequest } from "../../server/routing/route-request.ts";
import { TargetRegistry } from "../../server/routing/target-registry.ts";
import type { EmbeddingsQuery, EmbeddingsResponse } from "../../server/upstream/contract.ts";
import {
  type EmbeddingsSend,
  modelWithTargets,
  requestFor,
  responseTo,
  targetNamed,
} from "../embeddings/stage-fixture.ts";

const slots = 4;
const workMs = 20;

/** A clock that jumps from timer to timer: the speed of the machine does not matter. */
class VirtualTime implements Timers {
  now = 0;
  #pending: { readonly at: number; readonly fire: () => void }[] = [];

  start(ms: number, fire: () => void): unknown {
    const timer = { at: this.now + ms, fire };
    this.#pending.push(timer);
    return timer;
  }

  stop(timer: unknown): void {
    this.#pending = this.#pending.filter((each) => each !== timer);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.start(ms, resolve));
  }

  /** Fires timers in order until `work` is done. */
  async run(work: Promise<unknown>): Promise<void> {
    let isDone = false;
    const done = work.finally(() => (isDone = true));
    for (;;) {
      // Everything that follows from the last timer happens first.
      await new Promise((resolve) => setImmediate(resolve));
      if (isDone) return void (await done);
      const next = this.#pending.reduce((a, b) => (b.at < a.at ? b : a));
      this.stop(next);
      this.now = next.at;
      next.fire();
    }
  }
}

/** Processes a few requests at a time in FIFO order, like a server with one GPU. */
function crowdedTarget(time: VirtualTime): EmbeddingsSend {
  const queue: (() => void)[] = [];
  let busy = 0;
  return async (request) => {
    if (++busy > slots) await new Promise<void>((resolve) => queue.push(resolve));
    await time.sleep(workMs);
    busy--;
    queue.shift()?.();
    return responseTo(request);
  };
}

test("the only target of a model stays in use although its responses take fifty times as long as before", async () => {
  const time = new VirtualTime();
  const model = modelWithTargets(targetNamed("crowded"));
  const changes: unknown[] = [];
  const registry = new TargetRegistry({
    snapshot: () => ({ models: new Map([[model.id, model]]) }),
    clock: () => time.now,
    random: Math.random,
    timers: time,
    onTargetChange: (change) => changes.push(change),
  });
  const send = routeRequest<EmbeddingsQuery, EmbeddingsResponse>({
    registry,
    sizeClassOf: () => 0,
  })(crowdedTarget(time));
  const latencies: number[] = [];
  const client = async (until: number): Promise<void> => {
    do {
      const began = time.now;
      await send(requestFor(["x"], model));
      latencies.push(time.now - began);
    } while (time.now < until);
  };
  // A few first: the target is known to be fast when the others come.
  await time.run(client(800));
  expect(Math.max(...latencies)).toBe(workMs);
  await time.run(Promise.all(Array.from({ length: 256 }, () => client(8000))));
  expect(Math.max(...latencies)).toBeGreaterThan(50 * workMs);
  expect(changes).toEqual([]);
});
