/**
 * One worker against two, with PostgreSQL and Redis. The load generator needs a core of the machine, so each worker has
 * 0.4 of the other core, by a control group: as on a machine with slower cores, of which each worker has one.
 */

import { sharedPostgres } from "../../test/storage/postgres-server.ts";
import { startRedis } from "../../test/storage/redis-server.ts";
import { alternate } from "../compare.ts";
import type { RunScenario } from "../context.ts";
import { limitCpu } from "../cpu-quota.ts";
import { median, medians, underLoad, warmUp } from "../measure.ts";
import { commandOf, treeOf } from "../proc.ts";
import { atLeast, type Verdict } from "../result.ts";
import { cachedText, targets, uncachedText } from "../scenarios.ts";
import { figureTable } from "../table.ts";

const warmSeconds = 2;
const shareOfCore = 0.4;

/** The processes that serve: the gateway itself, or the children of its supervisor. */
function servingProcesses(gateway: number): number[] {
  const children = treeOf(gateway).filter(
    (pid) => pid !== gateway && commandOf(pid).includes("serve"),
  );
  return children.length > 0 ? children : [gateway];
}

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
  for (const usual of [cachedText, uncachedText]) {
    // As many clients for each of two workers as for one.
    const scenario = { ...usual, connections: usual.connections * 2 };
    context.log(`${scenario.name}: warming up`);
    for (const proxy of [one, two])
      await warmUp(
        async () => (await underLoad(context, proxy, scenario, warmSeconds)).cpuUsPerRequest,
      );
    const ends = [one, two].flatMap((proxy) =>
      servingProcesses(proxy.process.pid).map((pid) => limitCpu(pid, shareOfCore)),
    );
    const rounds = await alternate(context, scenario, [one, two]);
    for (const end of ends) end();
    const [ofOne, ofTwo] = [rounds.get(one) ?? [], rounds.get(two) ?? []];
    const ratio = median(
      ofTwo.map(({ requestsPerSecond }, at) => requestsPerSecond / ofOne[at]!.requestsPerSecond),
    );
    const columns = { "1 worker": medians(ofOne), "2 workers": medians(ofTwo) };
    texts.push(
      [
        `${scenario.name}: one worker and two, each with ${shareOfCore} of a core`,
        figureTable(columns),
        `requests/s, round by round: ${ratio.toFixed(2)} x 1 worker (median)`,
      ].join("\n"),
    );
    figures[scenario.name] = { columns, ratio };
    verdicts.push(
      atLeast(
        `requests/s of two workers: ${scenario.name}`,
        ratio,
        targets.leastOfTwoWorkers,
        "x one worker",
      ),
    );
  }
  for (const proxy of [one, two]) await proxy.process.stop();
  await redis.stop();
  await postgres.stop();
  return { text: texts.join("\n\n"), figures, verdicts };
};
