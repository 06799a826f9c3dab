/** Memory of the gateway: its own process, and its worker processes. */

import { commandOf, pssMegabytes, rssMegabytes, treeOf, watchPeak } from "./proc.ts";

/** In MB. */
export interface Memory {
  readonly gateway: number;
  readonly workers: number;
}

const isWorker = (pid: number): boolean => commandOf(pid).includes("/server/workers/");
const gatewayOf = (root: number): number[] => treeOf(root).filter((pid) => !isWorker(pid));
const workersOf = (root: number): number[] => treeOf(root).filter(isWorker);

export const memoryOf = (root: number): Memory => ({
  gateway: rssMegabytes(root, gatewayOf),
  workers: rssMegabytes(root, workersOf),
});

/** The maximum of each between now and `peak()`. */
export function watchMemory(root: number, everyMs = 50): { peak(): Memory } {
  const gateway = watchPeak(root, everyMs, gatewayOf);
  const workers = watchPeak(root, everyMs, workersOf);
  return { peak: () => ({ gateway: gateway.peak(), workers: workers.peak() }) };
}

/** `growth()` returns the most that the memory of a process tree has grown since. Shared pages count once (PSS). */
export function watchTree(root: number, everyMs = 50): { growth(): number } {
  const before = pssMegabytes(root);
  let most = before;
  const sample = () => {
    most = Math.max(most, pssMegabytes(root));
  };
  const timer = setInterval(sample, everyMs);
  return {
    growth: () => {
      clearInterval(timer);
      sample();
      return most - before;
    },
  };
}

export const highest = (each: readonly Memory[]): Memory => ({
  gateway: Math.max(...each.map(({ gateway }) => gateway)),
  workers: Math.max(...each.map(({ workers }) => workers)),
});

export const memoryText = ({ gateway, workers }: Memory): string =>
  `${gateway.toFixed(0)} MB and ${workers.toFixed(0)} MB in child processes`;
