/**
 * One worker against two, with PostgreSQL and Redis. All processes of the gateway share one core here, so the figure is
 * the CPU per request: if two workers need no more of it than one, they serve twice as much on two cores.
 */

import { sharedPostgres } from "../../test/storage/postgres-server.ts";
import { startRedis } from "../../test/storage/redis-server.ts";
import { alternate, cpuTimes, timesLine } from "../compare.ts";
import type { RunScenario } from "../context.ts";
import { medians, underLoad, warmUp } from "../measure.ts";
import { atMost, type Verdict } from "../result.ts";
import { cachedText, targets, uncachedText } from "../scenarios.ts";
import { figureTable } from "../table.ts";

const warmSeconds = 2;

export const workers: RunScenario = async (context) => {
  const [postgres, redis] = [await sharedPostgres(), await startRedis()];
  const start = async (count: number) =>
    context.vexel({
      DATABASE_URL: await postgres.createDatabase(),
      REDIS_URL: redis.url,
      VEXEL_SECRET: "a secret of the bench".replaceAll(" ", "-"),
      VEXEL_WORKERS: String(count),
    });
  const [one, two] = [await start(1), await start(2)];
  const texts: string[] = [];
  const figures: Record<string, unknown> = {};
  const verdicts: Verdict[] = [];
  for (const scenario of [cachedText, uncachedText]) {
    context.log(`${scenario.name}: warming up`);
    for (const proxy of [one, two])
      await warmUp(
        async () => (await underLoad(context, proxy, scenario, warmSeconds)).cpuUsPerRequest,
      );
    const rounds = await alternate(context, scenario, [one, two]);
    const [ofOne, ofTwo] = [rounds.get(one) ?? [], rounds.get(two) ?? []];
    const times = cpuTimes(ofTwo, ofOne);
    const columns = { "1 worker": medians(ofOne), "2 workers": medians(ofTwo) };
    texts.push(
      [
        `${scenario.name}: one worker and two`,
        figureTable(columns),
        timesLine(times, "1 worker"),
      ].join("\n"),
    );
    figures[scenario.name] = { columns, times };
    verdicts.push(
      atMost(
        `CPU of two workers: ${scenario.name}`,
        times.median,
        targets.twoWorkersTimesOne,
        "x one worker",
      ),
    );
  }
  for (const proxy of [one, two]) await proxy.process.stop();
  await redis.stop();
  await postgres.stop();
  return { text: texts.join("\n\n"), figures, verdicts };
};
