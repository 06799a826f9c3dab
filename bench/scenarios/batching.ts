/** Micro-batching: many clients with small requests and an upstream that is the bottleneck. */

import type { RunScenario } from "../context.ts";
import { type Figures, medians, underLoad, warmUp } from "../measure.ts";
import { atLeast, atMost } from "../result.ts";
import { crowded, crowdedBatched, crowdedUnbatched, type Scenario, targets } from "../scenarios.ts";
import { figureTable } from "../table.ts";
import { readRequestCounts } from "../upstream-embeddings.ts";

const warmSeconds = 2;

export const batching: RunScenario = async (context) => {
  const { upstream, rounds, seconds, log } = context;
  const { clients, slots, ms } = crowded;
  const vexel = await context.vexel();
  const round = async (scenario: Scenario, time: number): Promise<Figures> => {
    // Requests of the earlier load in the upstream's queue would slow this one down.
    while ((await readRequestCounts(upstream)).inFlight > 0) await Bun.sleep(50);
    return underLoad(context, vexel, scenario, time);
  };
  log(`${clients} clients of a slow upstream: warming up`);
  await warmUp(async () => (await round(crowdedBatched, warmSeconds)).requestsPerSecond);
  await round(crowdedUnbatched, warmSeconds);
  const [off, on]: [Figures[], Figures[]] = [[], []];
  for (let at = 1; at <= rounds; at++) {
    log(`${clients} clients of a slow upstream: round ${at} of ${rounds}`);
    off.push(await round(crowdedUnbatched, seconds));
    on.push(await round(crowdedBatched, seconds));
  }
  await vexel.process.stop();

  const [unbatched, batched] = [medians(off), medians(on)];
  const name = `${clients} clients with one uncached text each, upstream with ${slots} slots of ${ms} ms`;
  const gain = batched.requestsPerSecond / unbatched.requestsPerSecond;
  return {
    text: `${name}: batching off and on\n${figureTable({ off: unbatched, on: batched })}`,
    figures: { name, off: unbatched, on: batched },
    verdicts: [
      atLeast(`requests/s, ${name}`, gain, targets.leastBatchingGain, "x batching off"),
      atMost(
        "upstream requests per request, same load",
        batched.upstreamRequests,
        targets.upstreamRequestsPerRequest,
        "with batching on",
      ),
    ],
  };
};
