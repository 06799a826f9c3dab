/** Many small callers before an upstream that is the bottleneck: what batching gains, and spares the upstream. */

import { atLeast, atMost } from "../finding.ts";
import { type Figures, median, medians, underLoad } from "../measure.ts";
import type { Contender } from "../nginx.ts";
import { crowded, crowdedAlone, crowdedTogether, type Scenario, targets } from "../scenarios.ts";
import type { Part, Site } from "../site.ts";
import { figureTable } from "../table.ts";

interface Round {
  readonly figures: Figures;
  readonly callsPerAnswer: number;
}

const warmSeconds = 2;

export const together: Part = async (site) => {
  const vexel = await site.vexel();
  const turns: readonly [Scenario, Round[]][] = [
    [crowdedAlone, []],
    [crowdedTogether, []],
  ];
  for (const [scenario] of turns) await crowd(site, vexel, scenario, warmSeconds);
  for (let at = 1; at <= site.rounds; at++) {
    site.say(`${crowded.callers} callers before a slow upstream: round ${at} of ${site.rounds}`);
    for (const [scenario, list] of turns)
      list.push(await crowd(site, vexel, scenario, site.seconds));
  }
  await vexel.process.stop();

  const [alone, joined] = turns.map(([, list]) => medians(list.map(({ figures }) => figures)));
  const [callsAlone, calls] = turns.map(([, list]) =>
    median(list.map(({ callsPerAnswer }) => callsPerAnswer)),
  );
  const name = `${crowded.callers} one-input callers before an upstream of ${crowded.slots} slots, ${crowded.ms} ms a call`;
  return {
    text: [
      `${name}, new texts`,
      figureTable({ "batching off": alone!, "batching on": joined! }),
      `upstream calls per answered call: ${callsAlone!.toFixed(3)} off, ${calls!.toFixed(3)} on`,
    ].join("\n"),
    figures: { name, alone, joined, callsAlone, calls },
    verdicts: [
      atLeast(
        `batching, ${name}: requests/s`,
        joined!.requestsPerSecond / alone!.requestsPerSecond,
        targets.leastGainTogether,
        "x batching off",
      ),
      atMost(
        "batching, same load: upstream calls per answered call",
        calls!,
        targets.callsPerAnswer,
        "calls",
      ),
    ],
  };
};

/** Calls that reached the upstream are counted there, those whose caller was gone before the answer too. */
async function crowd(
  { upstream, folder }: Site,
  vexel: Contender,
  scenario: Scenario,
  seconds: number,
): Promise<Round> {
  // What the load before left in its queue would slow this one down.
  while ((await stateOf(upstream)).inHand > 0) await Bun.sleep(50);
  const before = await stateOf(upstream);
  const figures = await underLoad(vexel, scenario, seconds, folder);
  const after = await stateOf(upstream);
  const answers = figures.requestsPerSecond * figures.loadSeconds;
  return { figures, callsPerAnswer: (after.calls - before.calls) / answers };
}

async function stateOf(upstream: string): Promise<{ calls: number; inHand: number }> {
  const answer = await fetch(`${upstream}/crowded/state`);
  return (await answer.json()) as { calls: number; inHand: number };
}
