/** Laws of the fair queue for priority classes, held over random schedules of requests. */
import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { LocalSlots, type SlotLease } from "../../server/limits/concurrency-slots.ts";
import { FairQueue, type SlotRequest } from "../../server/limits/fair-queue.ts";
import type { Priority } from "../../server/request/http-types.ts";
import { scaled } from "../depth.ts";

interface QueuedRequest extends SlotRequest {
  readonly name: string;
  isStarted: boolean;
  lease: SlotLease | undefined;
}

const noTimers = { start: () => undefined, stop: () => undefined };
const { signal } = new AbortController();

/** Everything that follows from a change of the queue has happened. */
const settled = async (): Promise<void> => {
  for (let microtask = 0; microtask < 8; microtask++) await undefined;
};

/** A queue, and the requests in the order in which they are admitted or rejected. */
function setUpQueue(slotLimits: readonly number[], maxWaiting = 1000) {
  const slots = slotLimits.map((limit) => new LocalSlots(limit));
  const queue = new FairQueue({
    max: maxWaiting,
    clock: () => 0,
    timers: noTimers,
    newId: () => "",
  });
  const admitted: QueuedRequest[] = [];
  const rejected: [name: string, reason: string][] = [];
  let count = 0;
  const enter = async (
    priority: Priority,
    { key = priority as string, needs = [0] } = {},
  ): Promise<QueuedRequest> => {
    const neededSlots = needs.map((at) => slots[at] as LocalSlots);
    const request: QueuedRequest = {
      name: `${priority} ${count++}`,
      key,
      priority,
      neededSlots,
      isStarted: false,
      lease: queue.tryTake(neededSlots),
      hasStarted: () => request.isStarted,
      queueTimeoutMs: 1000,
      signal,
      refusal: (reason) => new GatewayError("queue_full", reason),
    };
    const onLease = (lease: SlotLease): void => {
      request.lease = lease;
      admitted.push(request);
    };
    const onRefusal = ({ message }: GatewayError): void =>
      void rejected.push([request.name, message]);
    if (request.lease) admitted.push(request);
    else void queue.take(request).then(onLease, onRefusal);
    await settled();
    return request;
  };
  const finish = async ({ lease }: QueuedRequest): Promise<void> => {
    lease?.release();
    await settled();
  };
  return { queue, slots, admitted, rejected, enter, finish };
}

const priorities = (requests: readonly QueuedRequest[]): Priority[] =>
  requests.map(({ priority }) => priority);

test("a batch request waits while interactive requests wait for the same slots", async () => {
  const { enter, finish, admitted } = setUpQueue([1]);
  const first = await enter("interactive");
  await enter("batch");
  await enter("interactive");
  await enter("interactive", { key: "other" });
  await finish(first);
  await finish(admitted[1]!);
  await finish(admitted[2]!);
  expect(priorities(admitted)).toEqual(["interactive", "interactive", "interactive", "batch"]);
});

test("a batch request is not held up by interactive requests for other slots", async () => {
  const { enter, finish, admitted } = setUpQueue([1, 1]);
  await enter("interactive", { needs: [0] });
  const other = await enter("batch", { needs: [1] });
  await enter("interactive", { needs: [0] });
  const batch = await enter("batch", { needs: [1] });
  await finish(other);
  expect(admitted.at(-1)).toBe(batch);
});

test("a batch request is admitted after at most 16 interactive requests", async () => {
  const { enter, finish, admitted } = setUpQueue([1]);
  await enter("interactive");
  for (let at = 0; at < 3; at++) await enter("batch", { key: `batch ${at}` });
  for (let at = 0; at < 60; at++) {
    await enter("interactive");
    await finish(admitted.at(-1)!);
  }
  const batchAt = priorities(admitted).flatMap((priority, at) =>
    priority === "batch" ? [at] : [],
  );
  expect(batchAt).toEqual([17, 34, 51]);
});

test("a full queue rejects batch requests before interactive ones", async () => {
  const { enter, rejected } = setUpQueue([1], 3);
  await enter("interactive");
  for (let at = 0; at < 3; at++) await enter("batch");
  for (let at = 0; at < 4; at++) await enter("interactive");
  await enter("batch");
  const reasons = rejected.map(([name]) => name);
  expect(reasons).toEqual(["batch 3", "batch 2", "batch 1", "interactive 7", "batch 8"]);
});

test("a request that has started is not rejected for another one", async () => {
  const { enter, rejected } = setUpQueue([1], 1);
  await enter("interactive");
  const started = await enter("batch");
  started.isStarted = true;
  await enter("interactive");
  expect(rejected).toEqual([["interactive 2", "full"]]);
});

test("keys take turns within each priority class", async () => {
  const { enter, finish, admitted } = setUpQueue([1]);
  await enter("interactive");
  for (let at = 0; at < 6; at++) await enter("batch", { key: "many" });
  for (let at = 0; at < 2; at++) await enter("batch", { key: "few" });
  for (let at = 0; at < 8; at++) await finish(admitted.at(-1)!);
  const turns = admitted.slice(1, 5).map(({ key }) => key);
  expect(turns.filter((key) => key === "few")).toHaveLength(2);
});

test("batch requests of a key do not use up the turns of its interactive requests", async () => {
  const { enter, finish, admitted } = setUpQueue([1]);
  await enter("batch", { key: "a" });
  for (let at = 0; at < 20; at++) await enter("batch", { key: "a" });
  for (let at = 0; at < 10; at++) await finish(admitted.at(-1)!);
  for (let at = 0; at < 4; at++) {
    await enter("interactive", { key: "b" });
    await enter("interactive", { key: "a" });
  }
  const before = admitted.length;
  for (let at = 0; at < 4; at++) await finish(admitted.at(-1)!);
  const keys = admitted.slice(before).map(({ key }) => key);
  expect(keys.filter((key) => key === "a")).toHaveLength(2);
});

/** A small linear congruential generator: the same schedule for the same seed. */
const randomOf = (seed: number) => {
  let state = seed;
  return (max: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * max);
  };
};

describe.each(Array.from({ length: scaled(120) }, (_, seed) => seed))(
  "random schedule %i",
  (seed) => {
    test("no slot is exceeded, none stays free while a request could take it, and every request is admitted", async () => {
      const random = randomOf(seed + 1);
      const limits = [1 + random(3), 1 + random(3), 2 + random(4)];
      const { queue, slots, admitted, enter, finish } = setUpQueue(limits, 10_000);
      const running = new Set<QueuedRequest>();
      const entered: QueuedRequest[] = [];
      let admittedCount = 0;
      const note = (): void => {
        for (; admittedCount < admitted.length; admittedCount++)
          running.add(admitted[admittedCount]!);
        for (const [at, { inFlight, limit }] of slots.entries()) {
          expect(inFlight, `slot ${at}`).toBeLessThanOrEqual(limit);
        }
        const isWaiting = (request: QueuedRequest): boolean => !admitted.includes(request);
        const free = entered.filter(
          (request) => isWaiting(request) && request.neededSlots.every((each) => each.mayTake),
        );
        expect(free).toEqual([]);
      };
      for (let step = 0; step < 400; step++) {
        const isArrival = random(10) < 5 || running.size === 0;
        if (isArrival) {
          const priority = random(3) === 0 ? "batch" : "interactive";
          const needs = random(4) === 0 ? [random(2), 2] : [random(3)];
          entered.push(await enter(priority, { key: `k${random(4)}`, needs }));
        } else {
          const ending = [...running][random(running.size)]!;
          running.delete(ending);
          await finish(ending);
        }
        note();
      }
      // Nothing is lost: every request is admitted in the end.
      while (running.size > 0) {
        const [ending] = running;
        running.delete(ending!);
        await finish(ending!);
        note();
      }
      expect(admitted).toHaveLength(entered.length);
      expect(queue.size).toBe(0);
    });

    test("of 17 admissions to a slot for which both classes wait, at least one is batch", async () => {
      const random = randomOf(seed + 1000);
      const { enter, finish, admitted, queue } = setUpQueue([1 + random(3)]);
      const keys = 1 + random(5);
      for (let at = 0; at < 300; at++) {
        await enter("interactive", { key: `i${random(keys)}` });
        await enter("batch", { key: `b${random(keys)}` });
      }
      let finished = 0;
      let run = 0;
      let longest = 0;
      let counted = 3;
      while (queue.size > 300) {
        await finish(admitted[finished++]!);
        for (; counted < admitted.length; counted++) {
          run = admitted[counted]!.priority === "batch" ? 0 : run + 1;
          longest = Math.max(longest, run);
        }
      }
      expect(longest).toBe(16);
    });
  },
);
