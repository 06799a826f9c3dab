/** One caller at a time, with batching on and off in short turns: whoever is alone must not wait for others. */

import { atMost } from "../finding.ts";
import { median, underLoad, warmUp } from "../measure.ts";
import { calm, calmAlone, calmTogether, targets } from "../scenarios.ts";
import type { Part } from "../site.ts";

// Short and many, so that a drift of the machine meets both alike.
const turns = 8;
const turnSeconds = 1;

export const idle: Part = async (site) => {
  const vexel = await site.vexel();
  const p50 = async (scenario: typeof calmAlone) =>
    (await underLoad(site, vexel, scenario, turnSeconds)).p50Ms;
  site.say("one caller at a time");
  for (const scenario of [calmAlone, calmTogether]) await warmUp(() => p50(scenario));
  const [alone, joined]: [number[], number[]] = [[], []];
  for (let at = 0; at < turns; at++) {
    // Each is first as often as the other.
    if (at % 2 === 0) alone.push(await p50(calmAlone));
    joined.push(await p50(calmTogether));
    if (at % 2 === 1) alone.push(await p50(calmAlone));
  }
  await vexel.process.stop();
  const [off, on] = [median(alone), median(joined)];
  const name = `one caller at a time, upstream of ${calm.ms} ms`;
  return {
    text: `${name}, new texts: p50 ${off.toFixed(3)} ms with batching off, ${on.toFixed(3)} ms on (medians of ${turns} turns each)`,
    figures: { name, alone, joined },
    verdicts: [atMost(`p50, ${name}`, on / off, targets.idleTimesAlone, "x batching off")],
  };
};
