/** A target above its capacity is slow, not down: its clients wait, and no request is refused. */
import { expect, test } from "bun:test";
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
import { VirtualTime } from "../fuzz/routing-simulation.ts";

const slots = 4;
const workMs = 20;

/** Processes a few requests at a time in FIFO order, like a server with one GPU. */
function crowdedTarget(time: VirtualTime): EmbeddingsSend {
  const queue: (() => void)[] = [];
  let busy = 0;
  return async (request) => {
    if (++busy > slots) await new Promise<void>((resolve) => queue.push(resolve));
    await new Promise<void>((resolve) => time.start(workMs, resolve));
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
    clock: time.clock,
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
      const began = time.now();
      await send(requestFor(["x"], model));
      latencies.push(time.now() - began);
    } while (time.now() < until);
  };
  // A few first: the target is known to be fast when the others come.
  const first = client(800);
  await time.run();
  await first;
  expect(Math.max(...latencies)).toBe(workMs);
  const others = Array.from({ length: 256 }, () => client(8000));
  await time.run();
  await Promise.all(others);
  expect(Math.max(...latencies)).toBeGreaterThan(50 * workMs);
  expect(changes).toEqual([]);
});
