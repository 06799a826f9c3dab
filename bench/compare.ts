/** One load on several proxies in turns, and the CPU of each as a multiple of another's. */

import { type Figures, median, underLoad } from "./measure.ts";
import type { Contender } from "./nginx.ts";
import type { Scenario } from "./scenarios.ts";
import type { Site } from "./site.ts";

const runInSeconds = 1;

export async function inTurns(
  site: Site,
  scenario: Scenario,
  proxies: readonly Contender[],
): Promise<Map<Contender, readonly Figures[]>> {
  const lists = new Map<Contender, Figures[]>(proxies.map((proxy) => [proxy, []]));
  for (let round = 1; round <= site.rounds; round++) {
    site.say(`${scenario.name}: round ${round} of ${site.rounds}`);
    for (const [proxy, list] of lists) {
      // A proxy was idle while the others had their turn; a proxy in service is not. This run-in is not counted.
      await underLoad(site, proxy, scenario, runInSeconds);
      list.push(await underLoad(site, proxy, scenario, site.seconds));
    }
  }
  return lists;
}

export interface Times {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Other load on the machine hits all proxies of a round, so CPU is compared round by round. */
export function cpuTimes(rounds: readonly Figures[], others: readonly Figures[]): Times {
  const each = rounds.map(
    ({ cpuUsPerRequest }, at) => cpuUsPerRequest / others[at]!.cpuUsPerRequest,
  );
  return { median: median(each), least: Math.min(...each), most: Math.max(...each) };
}

export const timesLine = (times: Times, other: string): string =>
  `CPU, round by round: ${times.median.toFixed(2)} x ${other} (median), ${times.least.toFixed(2)} to ${times.most.toFixed(2)}`;
