/** Measures a proxy under load: one round, the medians of many rounds, and the warm-up before them. */

import type { BenchContext } from "./context.ts";
import { type Load, load } from "./load.ts";
import type { RunningProxy } from "./nginx.ts";
import { cpuMs, watchPeak } from "./proc.ts";
import type { Scenario } from "./scenarios.ts";
import { readRequestCounts } from "./upstream-embeddings.ts";

export interface Figures {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** User and system time of the proxy's processes. */
  readonly cpuUsPerRequest: number;
  /** Upstream responses per response of the proxy. */
  readonly upstreamRequests: number;
  /** Share of its one core: near 1, the proxy is the bottleneck; well below, upstream or load generator is. */
  readonly coreShare: number;
  readonly peakMegabytes: number;
}

export async function underLoad(
  { upstream, folder }: Pick<BenchContext, "upstream" | "folder">,
  proxy: RunningProxy,
  scenario: Scenario,
  seconds: number,
): Promise<Figures> {
  const { pid } = proxy.process;
  const requestsBefore = (await readRequestCounts(upstream)).completed;
  const before = cpuMs(pid);
  const watch = watchPeak(pid);
  const result: Load = await load(proxy.url, scenario, seconds, folder);
  const peakMegabytes = watch.peak();
  const cpu = cpuMs(pid) - before;
  if (result.failures > 0 || result.requests === 0)
    throw new Error(
      `${proxy.url}: ${result.failures} of ${result.requests} requests failed. ${proxy.process.errorOutput()}`,
    );
  return {
    requests: result.requests,
    requestsPerSecond: result.requests / result.seconds,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    cpuUsPerRequest: (cpu * 1000) / result.requests,
    upstreamRequests:
      ((await readRequestCounts(upstream)).completed - requestsBefore) / result.requests,
    coreShare: cpu / 1000 / result.seconds,
    peakMegabytes,
  };
}

/**
 * Repeats rounds until they become no cheaper, at most twelve. The JIT compiler works for ten seconds and more, and two
 * rounds that agree by chance do not show that it has finished.
 */
export async function warmUp(round: () => Promise<number>): Promise<void> {
  const costs: number[] = [];
  while (costs.length < 12) {
    costs.push(await round());
    const [before, recent] = [costs.slice(0, -3), costs.slice(-3)];
    if (before.length >= 2 && Math.min(...recent) > 0.97 * Math.min(...before)) return;
  }
}

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return (sorted[Math.floor(middle)]! + sorted[Math.ceil(middle)]!) / 2;
};

export const medians = (rounds: readonly Figures[]): Figures => ({
  requests: median(rounds.map((round) => round.requests)),
  requestsPerSecond: median(rounds.map((round) => round.requestsPerSecond)),
  p50Ms: median(rounds.map((round) => round.p50Ms)),
  p99Ms: median(rounds.map((round) => round.p99Ms)),
  cpuUsPerRequest: median(rounds.map((round) => round.cpuUsPerRequest)),
  upstreamRequests: median(rounds.map((round) => round.upstreamRequests)),
  coreShare: median(rounds.map((round) => round.coreShare)),
  // The maximum, not the median: a memory bound holds at every moment.
  peakMegabytes: Math.max(...rounds.map((round) => round.peakMegabytes)),
});
