/**
 * The CPU cost of printing vectors as JSON numbers, in a process that does nothing else: `bun bench/print-floats.ts`.
 * Reads a number of seconds from its input, works for that time, and prints the microseconds of CPU per request.
 * For each request: the vectors' base64, as the upstream sends it, decoded and printed by functions of the runtime.
 * Not included: HTTP, validation, the ledger, and the assembly of the printed vectors into one body.
 */

import { decodeVector } from "../server/embeddings/vector-formats.ts";
import { warmUp } from "./measure.ts";
import { cpuMs } from "./proc.ts";
import { vectors } from "./vectors.ts";

/** CPU of the whole process, with garbage collector and JIT compiler, in microseconds per request. */
async function round(time: number): Promise<number> {
  const before = cpuMs(process.pid);
  const until = performance.now() + time * 1000;
  let requests = 0;
  let characters = 0;
  while (performance.now() < until) {
    for (const vector of vectors) characters += `[${decodeVector(vector)?.join(",")}]`.length;
    requests++;
    // Yields as a server does between requests: otherwise the garbage collector and the compiler would be delayed.
    await new Promise(setImmediate);
  }
  if (characters < requests * vectors.length) throw new Error("nothing was printed");
  return ((cpuMs(process.pid) - before) * 1000) / requests;
}

await warmUp(() => round(1));
for await (const line of console) console.log(await round(Number(line)));
