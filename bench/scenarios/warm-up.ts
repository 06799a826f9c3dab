/**
 * The CPU of an uncached text from the first second of a fresh gateway on: the warm-up of the JIT compiler, and the
 * variation after it.
 */

import type { RunScenario } from "../context.ts";
import { type Figures, median, underLoad } from "../measure.ts";
import { uncachedText } from "../scenarios.ts";

const stepSeconds = 2;
const steps = 15;
/** The first 20 s count as warm-up. */
const warmSteps = 10;

export const fromColdStart: RunScenario = async (context) => {
  const nginx = await context.nginx();
  const vexel = await context.vexel();
  const measured: Figures[] = [];
  for (let at = 0; at < steps; at++) {
    context.log(`a fresh gateway: seconds ${at * stepSeconds} to ${(at + 1) * stepSeconds}`);
    measured.push(await underLoad(context, vexel, uncachedText, stepSeconds));
  }
  const reference = nginx && (await underLoad(context, nginx, uncachedText, stepSeconds));
  await Promise.all([nginx, vexel].map((proxy) => proxy?.process.stop()));
  const cpu = measured.map(({ cpuUsPerRequest }) => cpuUsPerRequest);
  const [first = 0] = cpu;
  const warm = cpu.slice(warmSteps);
  const range = `${Math.min(...warm).toFixed(0)} to ${Math.max(...warm).toFixed(0)}`;
  const lines = [
    `a fresh gateway under immediate load, ${uncachedText.name}, ${uncachedText.connections} connections`,
    `CPU per request in steps of ${stepSeconds} s: ${cpu.map((us) => us.toFixed(0)).join(", ")} us`,
    `first ${stepSeconds} s: ${first.toFixed(0)} us; after ${warmSteps * stepSeconds} s: ${range} us, median ${median(warm).toFixed(0)} us`,
  ];
  if (reference) {
    const ratio = (us: number): string => (us / reference.cpuUsPerRequest).toFixed(1);
    lines.push(
      `nginx: ${reference.cpuUsPerRequest.toFixed(0)} us; ${ratio(first)} x at the start, ${ratio(median(warm))} x warm`,
    );
  }
  return {
    text: lines.join("\n"),
    figures: { name: "from a cold start", cpu, reference },
    verdicts: [],
  };
};
