/** Other load: the CPU that other processes used during a run. Figures from a busy machine are worth less. */

import { cpuMs, machineMs } from "./proc.ts";

/** Returns a function that returns the CPU, in cores, that other processes and the host have used since. */
export function watchOtherLoad(): () => number {
  const read = () => {
    const { worked, stolen } = machineMs();
    return { at: performance.now(), others: worked + stolen - cpuMs(process.pid) };
  };
  const before = read();
  return () => {
    const after = read();
    return Math.max(0, (after.others - before.others) / (after.at - before.at));
  };
}
