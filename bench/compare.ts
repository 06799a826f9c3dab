/** Applies one load to several proxies in alternating rounds, and compares the CPU of each round. */

import type { BenchContext } from "./context.ts";
import { type Figures, median, underLoad } from "./measure.ts";
import type { RunningProxy } from "./nginx.ts";
import type { Scenario } from "./scenarios.ts";

const runInSeconds = 1;

export async function alternate(
  context: BenchContext,
  scenario: Scenario,
  proxies: readonly RunningProxy[],
): Promise<Map<RunningProxy, readonly Figures[]>> {
  const lists = new Map<RunningProxy, Figures[]>(proxies.map((proxy) => [proxy, []]));
  for (let round = 1; round <= context.rounds; round++) {
    context.log(`${scenario.name}: round ${round} of ${context.rounds}`);
    for (const [proxy, list] of lists) {
      // The proxy was idle while the others were measured, unlike a proxy in service. This run-in is not counted.
      await underLoad(context, proxy, scenario, runInSeconds);
      list.push(await underLoad(context, proxy, scenario, context.seconds));
    }
  }
  return lists;
}

/** Ratios of two CPU times, of all rounds. */
interface Ratios {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Other load on the machine affects all proxies of a round, so CPU is compared round by round. */
export function cpuRatios(rounds: readonly Figures[], others: readonly Figures[]): Ratios {
  const each = rounds.map(
    ({ cpuUsPerRequest }, at) => cpuUsPerRequest / others[at]!.cpuUsPerRequest,
  );
  return { median: median(each), least: Math.min(...each), most: Math.max(...each) };
}

export const ratioLine = (ratios: Ratios, other: string): string =>
  `CPU, round by round: ${ratios.median.toFixed(2)} x ${other} (median), ${ratios.least.toFixed(2)} to ${ratios.most.toFixed(2)}`;
