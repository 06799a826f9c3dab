/** Many small callers before an upstream that is the bottleneck: what batching gains, and spares the upstream. */

import { tallyOf } from "../embeddings.ts";
import { atLeast, atMost } from "../finding.ts";
import { type Figures, medians, underLoad, warmUp } from "../measure.ts";
import { crowded, crowdedAlone, crowdedTogether, type Scenario, targets } from "../scenarios.ts";
import type { Part } from "../site.ts";
import { figureTable } from "../table.ts";

const warmSeconds = 2;

export const together: Part = async (site) => {
  const { upstream, rounds, seconds, say } = site;
  const { callers, slots, ms } = crowded;
  const vexel = await site.vexel();
  const round = async (scenario: Scenario, time: number): Promise<Figures> => {
    // What the load before left in the upstream's queue would slow this one down.
    while ((await tallyOf(upstream)).inHand > 0) await Bun.sleep(50);
    return underLoad(site, vexel, scenario, time);
  };
  say(`${callers} callers before a slow upstream: warming up`);
  await warmUp(async () => (await round(crowdedTogether, warmSeconds)).requestsPerSecond);
  await round(crowdedAlone, warmSeconds);
  const [off, on]: [Figures[], Figures[]] = [[], []];
  for (let at = 1; at <= rounds; at++) {
    say(`${callers} callers before a slow upstream: round ${at} of ${rounds}`);
    off.push(await round(crowdedAlone, seconds));
    on.push(await round(crowdedTogether, seconds));
  }
  await vexel.process.stop();

  const [alone, joined] = [medians(off), medians(on)];
  const name = `${callers} callers of one new text, upstream of ${slots} slots and ${ms} ms`;
  const gain = joined.requestsPerSecond / alone.requestsPerSecond;
  return {
    text: `${name}: batching off and on\n${figureTable({ off: alone, on: joined })}`,
    figures: { name, off: alone, on: joined },
    verdicts: [
      atLeast(`requests/s, ${name}`, gain, targets.leastGainTogether, "x batching off"),
      atMost(
        "upstream calls per answered call, same load",
        joined.upstreamCalls,
        targets.callsPerAnswer,
        "with batching on",
      ),
    ],
  };
};
