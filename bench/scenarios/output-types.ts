/** The same texts as float32 numbers, as base64 and as binary: bytes of the response, and the CPU of the gateway. */

import type { RunScenario } from "../context.ts";
import { sendOnce } from "../load.ts";
import { type Figures, medians, underLoad, warmUp } from "../measure.ts";
import { outputTypes } from "../scenarios.ts";
import { figureTable } from "../table.ts";

const warmSeconds = 2;

export const inOutputTypes: RunScenario = async (context) => {
  const { seconds, rounds, log } = context;
  const vexel = await context.vexel();
  const types = Object.entries(outputTypes);
  const bytes: Record<string, number> = {};
  for (const [type, scenario] of types) {
    bytes[type] = Buffer.byteLength(await sendOnce(vexel.url, scenario));
    log(`${scenario.name}: warming up`);
    await warmUp(
      async () => (await underLoad(context, vexel, scenario, warmSeconds)).cpuUsPerRequest,
    );
  }
  const served = new Map<string, Figures[]>(types.map(([type]) => [type, []]));
  for (let round = 1; round <= rounds; round++) {
    log(`output types: round ${round} of ${rounds}`);
    for (const [type, scenario] of types)
      served.get(type)?.push(await underLoad(context, vexel, scenario, seconds));
  }
  await vexel.process.stop();
  const columns = Object.fromEntries([...served].map(([type, list]) => [type, medians(list)]));
  const sizes = types.map(([type]) => `${type} ${bytes[type]}`).join(", ");
  return {
    text: [
      "64 uncached texts per request (cache on), 1536 dimensions, 2 connections",
      figureTable(columns),
      `bytes of a response: ${sizes}`,
    ].join("\n"),
    figures: { name: "output types", ...columns, bytes },
    verdicts: [],
  };
};
