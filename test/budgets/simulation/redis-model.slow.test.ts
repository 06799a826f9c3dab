/** The model of the shared budgets does what the scripts do: the same random calls have the same replies. */
import { afterAll, expect } from "bun:test";
import { randomUUID } from "node:crypto";
import { RedisConnection } from "../../../server/storage/redis/client.ts";
import { forgetEndedMs, leaseMs } from "../../../server/storage/redis/limits-scripts.ts";
import type { LimitsReply } from "../../../server/storage/redis/shared-limits.ts";
import { SharedLimits } from "../../../server/storage/redis/shared-limits.ts";
import { scaled } from "../../depth.ts";
import { randomFrom } from "../../fuzz/routing-simulation.ts";
import { beforeAllWith } from "../../programs.ts";
import { type RedisServer, startRedis, testWithRedis } from "../../storage/redis-server.ts";
import { RedisModel } from "./redis-model.ts";

let server: RedisServer;
let redis: RedisConnection;
beforeAllWith(["redis"], async () => {
  server = await startRedis();
  redis = new RedisConnection({ url: server.url, timeoutMs: 60_000 });
  await redis.attempted();
});
afterAll(async () => {
  redis?.close();
  await server?.stop();
});

testWithRedis("the model of the shared budgets replies what the scripts reply", async () => {
  for (let seed = 0; seed < scaled(2000); seed++) {
    const random = randomFrom(seed);
    const below = (count: number): number => Math.floor(random() * count);
    const group = randomUUID();
    let now = 1_000_000;
    const model = new RedisModel(() => now);
    const folders = [0, 1].map((at) => `${group}-${at}`);
    const processes = folders.flatMap((name) =>
      [1, 2].map((epoch) => {
        const scripts = new SharedLimits(redis, { name, epoch }, () => now);
        const sender = { name, epoch, number: 0 };
        return { scripts, sender };
      }),
    );
    const budgetNames = ["a", "b"].map((each) => `${group}:${each}`);
    const view = (name: string) => ({ name, spent: below(60), ended: below(3) * below(20) });
    const entry = () => ({
      id: `${group}:${below(5)}`,
      nanos: 1 + below(40),
      isLikely: random() < 0.2,
      version: below(3),
    });
    const update = () => ({
      rates: [],
      released: [],
      renewed: [],
      budgets: budgetNames.slice(below(2)).map((name) => ({
        ...view(name),
        closed: random() < 0.5 ? [`${group}:${below(5)}`] : [],
        open: random() < 0.5 ? [entry()] : [],
      })),
      isComplete: random() < 0.2,
    });
    const renewed = new Map<object, number>();
    for (let call = 0; call < 30; call++) {
      now += [0, 1, leaseMs - 1, leaseMs, forgetEndedMs][below(random() < 0.05 ? 5 : 4)] ?? 0;
      const process = processes[below(processes.length)] as (typeof processes)[number];
      const sender = { ...process.sender, number: ++process.sender.number };
      if (random() < 0.4) {
        const sent = update();
        const { isLost } = await process.scripts.update(sent);
        const before = model.update(sender, sent);
        if (!sent.isComplete) continue;
        expect(isLost, `seed ${seed}`).toBe(before < (renewed.get(process) ?? -1));
        renewed.set(process, sender.number);
        continue;
      }
      const demand = {
        id: random() < 0.1 ? "" : `${group}:request ${call}`,
        replica: "one",
        rates: [],
        slots: [],
        budgets: budgetNames.slice(below(2)).map((name) => {
          const likely = below(30);
          return { ...view(name), limit: 100, likely, most: likely * (1 + below(2)) };
        }),
      };
      // Within one call, a replica says the same of a budget.
      const sent = random() < 0.3 ? { ...update(), budgets: [] } : undefined;
      const found: LimitsReply = await process.scripts.take(demand, sent);
      const expected = model.take(sender, demand, sent);
      expect(found, `seed ${seed}`).toEqual(expected);
      if (sent?.isComplete) process.sender.number += 0;
    }
  }
});
