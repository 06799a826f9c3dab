/**
 * What it costs to print vectors as JSON numbers, in a process that does nothing else: `bun bench/printing.ts`.
 * Hears a number of seconds, works for so long, and says how many microseconds of CPU a call took.
 * For each call: the vectors' base64, as the upstream sends it, decoded and printed by the runtime's own functions.
 * Not in it: HTTP, the checks, the accounts, and putting the printed vectors together into one body.
 */

import { decodeVector } from "../server/embeddings/vector-formats.ts";
import { warmUp } from "./measure.ts";
import { cpuMs } from "./proc.ts";
import { vectors } from "./vectors.ts";

/** CPU of the whole process, its collector and compiler included, in microseconds per call. */
async function round(time: number): Promise<number> {
  const before = cpuMs(process.pid);
  const until = performance.now() + time * 1000;
  let calls = 0;
  let characters = 0;
  while (performance.now() < until) {
    for (const vector of vectors) characters += `[${decodeVector(vector)?.join(",")}]`.length;
    calls++;
    // As a server does between calls: a loop that never rests would hold back what runs in between.
    await new Promise(setImmediate);
  }
  if (characters < calls * vectors.length) throw new Error("nothing was printed");
  return ((cpuMs(process.pid) - before) * 1000) / calls;
}

await warmUp(() => round(1));
for await (const line of console) console.log(await round(Number(line)));
