/** How much of the machine others used while we measured: figures from a busy machine are worth less. */

import { cpuMs, machineMs } from "./proc.ts";

/** Returns a function that says, in cores, what processes not of this run and the host took since. */
export function watchBystanders(): () => number {
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
