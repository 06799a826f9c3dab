/** One client at a time, with batching on and off in short rounds: a single request must not wait for a batch. */

import type { RunScenario } from "../context.ts";
import { median, underLoad, warmUp } from "../measure.ts";
import { atMost } from "../result.ts";
import { calm, calmBatched, calmUnbatched, targets } from "../scenarios.ts";

// Short and many, so that a drift of the machine affects both equally.
const roundCount = 8;
const roundSeconds = 1;

export const singleClient: RunScenario = async (context) => {
  const vexel = await context.vexel();
  const p50 = async (scenario: typeof calmUnbatched) =>
    (await underLoad(context, vexel, scenario, roundSeconds)).p50Ms;
  context.log("one client at a time");
  for (const scenario of [calmUnbatched, calmBatched]) await warmUp(() => p50(scenario));
  const [unbatched, batched]: [number[], number[]] = [[], []];
  for (let at = 0; at < roundCount; at++) {
    // Both variants go first equally often.
    if (at % 2 === 0) unbatched.push(await p50(calmUnbatched));
    batched.push(await p50(calmBatched));
    if (at % 2 === 1) unbatched.push(await p50(calmUnbatched));
  }
  await vexel.process.stop();
  const [off, on] = [median(unbatched), median(batched)];
  const name = `one client at a time, upstream of ${calm.ms} ms`;
  return {
    text: `${name}, uncached texts: p50 ${off.toFixed(3)} ms with batching off, ${on.toFixed(3)} ms on (medians of ${roundCount} turns each)`,
    figures: { name, unbatched, batched },
    verdicts: [atMost(`p50, ${name}`, on / off, targets.batchedUnbatchedRatio, "x batching off")],
  };
};
