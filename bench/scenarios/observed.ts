/** The CPU that metrics and traces cost: the same gateway with neither, with metrics, and with both at two ratios. */

import { join } from "node:path";
import { alternate, cpuRatios, ratioLine } from "../compare.ts";
import type { RunScenario } from "../context.ts";
import { medians, underLoad, warmUp } from "../measure.ts";
import type { RunningProxy } from "../nginx.ts";
import { cores, firstLine, start } from "../processes.ts";
import { atMost, type Verdict } from "../result.ts";
import { cachedText, type Scenario, targets, uncachedText } from "../scenarios.ts";
import { figureTable } from "../table.ts";

const warmSeconds = 2;
const token = "bench-metrics-token-0123456789";

export const observed: RunScenario = async (context) => {
  const collector = start(
    [process.execPath, join(import.meta.dir, "../collector.ts")],
    cores.rest,
    { listen: true },
  );
  const endpoint = `http://127.0.0.1:${await firstLine(collector)}`;
  const metrics = { VEXEL_METRICS_TOKEN: token };
  const sampled = (share: string) => ({
    ...metrics,
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_TRACES_SAMPLER_ARG: share,
  });
  const gateways: Readonly<Record<string, RunningProxy>> = {
    off: await context.vexel(),
    metrics: await context.vexel(metrics),
    "traces 1%": await context.vexel(sampled("0.01")),
    "traces 100%": await context.vexel(sampled("1")),
  };
  const texts: string[] = [];
  const figures: Record<string, unknown> = {};
  const verdicts: Verdict[] = [];
  for (const scenario of [cachedText, uncachedText]) {
    const rounds = await measure(scenario);
    const ratios = Object.entries(rounds)
      .filter(([name]) => name !== "off")
      .map(([name, each]) => [name, cpuRatios(each, rounds.off!)] as const);
    const columns = Object.entries(rounds).map(([name, each]) => [name, medians(each)] as const);
    texts.push(
      [
        `${scenario.name}: metrics alone, metrics and traces`,
        figureTable(Object.fromEntries(columns)),
        ...ratios.map(([name, each]) => `${name}: ${ratioLine(each, "off")}`),
      ].join("\n"),
    );
    figures[scenario.name] = { columns, ratios };
    const usual = ratios.find(([name]) => name === "traces 1%")?.[1].median ?? Number.NaN;
    verdicts.push(
      atMost(
        `CPU with metrics and traces of 1 %: ${scenario.name}`,
        usual,
        targets.observedUnobservedRatio,
        "x off",
      ),
    );
  }
  await Promise.all(
    [...Object.values(gateways), { process: collector }].map((each) => each.process.stop()),
  );
  return { text: texts.join("\n\n"), figures, verdicts };

  async function measure(scenario: Scenario) {
    context.log(`${scenario.name}: warming up`);
    const proxies = Object.values(gateways);
    for (const proxy of proxies)
      await warmUp(
        async () => (await underLoad(context, proxy, scenario, warmSeconds)).cpuUsPerRequest,
      );
    const byProxy = await alternate(context, scenario, proxies);
    return Object.fromEntries(
      Object.entries(gateways).map(([name, proxy]) => [name, byProxy.get(proxy) ?? []]),
    );
  }
};
