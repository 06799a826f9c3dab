/** What a proxy does under load: one round, many rounds, and the rounds before they count. */

import { tallyOf } from "./embeddings.ts";
import { type Load, load } from "./load.ts";
import type { Contender } from "./nginx.ts";
import { cpuMs, watchPeak } from "./proc.ts";
import type { Scenario } from "./scenarios.ts";
import type { Site } from "./site.ts";

export interface Figures {
  readonly requests: number;
  readonly requestsPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** User and system time of the proxy's processes. */
  readonly cpuUsPerRequest: number;
  /** Answered by the upstream for each request that the proxy answered. */
  readonly upstreamCalls: number;
  /** Of its one core: near 1, the proxy is what limits; well below, upstream or load does. */
  readonly coreShare: number;
  readonly peakMegabytes: number;
}

export async function underLoad(
  { upstream, folder }: Pick<Site, "upstream" | "folder">,
  proxy: Contender,
  scenario: Scenario,
  seconds: number,
): Promise<Figures> {
  const { pid } = proxy.process;
  const calls = (await tallyOf(upstream)).answered;
  const before = cpuMs(pid);
  const watch = watchPeak(pid);
  const result: Load = await load(proxy.url, scenario, seconds, folder);
  const peakMegabytes = watch.peak();
  const cpu = cpuMs(pid) - before;
  if (result.failures > 0 || result.requests === 0)
    throw new Error(
      `${proxy.url}: ${result.failures} of ${result.requests} requests failed. ${proxy.process.complaints()}`,
    );
  return {
    requests: result.requests,
    requestsPerSecond: result.requests / result.seconds,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    cpuUsPerRequest: (cpu * 1000) / result.requests,
    upstreamCalls: ((await tallyOf(upstream)).answered - calls) / result.requests,
    coreShare: cpu / 1000 / result.seconds,
    peakMegabytes,
  };
}

/**
 * Until it becomes no cheaper, because the first rounds are those of a compiler at work: it is at it for ten seconds and
 * more, and two rounds that agree by chance are no sign that it is done. At most twelve.
 */
export async function warmUp(round: () => Promise<number>): Promise<void> {
  const costs: number[] = [];
  while (costs.length < 12) {
    costs.push(await round());
    const [before, lately] = [costs.slice(0, -3), costs.slice(-3)];
    if (before.length >= 2 && Math.min(...lately) > 0.97 * Math.min(...before)) return;
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
  upstreamCalls: median(rounds.map((round) => round.upstreamCalls)),
  coreShare: median(rounds.map((round) => round.coreShare)),
  // The worst, not the middle: memory is a promise about every moment.
  peakMegabytes: Math.max(...rounds.map((round) => round.peakMegabytes)),
});
