/** What the gateway takes, told apart: the process that callers talk to, and those that do its work on pixels. */

import { commandOf, pssMegabytes, rssMegabytes, treeOf, watchPeak } from "./proc.ts";

/** In MB. */
export interface Memory {
  readonly gateway: number;
  readonly children: number;
}

const isChild = (pid: number): boolean => commandOf(pid).includes("/server/workers/");
const gatewayOf = (root: number): number[] => treeOf(root).filter((pid) => !isChild(pid));
const childrenOf = (root: number): number[] => treeOf(root).filter(isChild);

export const memoryOf = (root: number): Memory => ({
  gateway: rssMegabytes(root, gatewayOf),
  children: rssMegabytes(root, childrenOf),
});

/** The highest of each between now and `peak()`. */
export function watchMemory(root: number, everyMs = 50): { peak(): Memory } {
  const gateway = watchPeak(root, everyMs, gatewayOf);
  const children = watchPeak(root, everyMs, childrenOf);
  return { peak: () => ({ gateway: gateway.peak(), children: children.peak() }) };
}

/** How much more memory a process and all below it take at once than they do now, at most. What they share counts once. */
export function watchTogether(root: number, everyMs = 50): { growth(): number } {
  const before = pssMegabytes(root);
  let most = before;
  const look = () => {
    most = Math.max(most, pssMegabytes(root));
  };
  const timer = setInterval(look, everyMs);
  return {
    growth: () => {
      clearInterval(timer);
      look();
      return most - before;
    },
  };
}

export const highest = (each: readonly Memory[]): Memory => ({
  gateway: Math.max(...each.map(({ gateway }) => gateway)),
  children: Math.max(...each.map(({ children }) => children)),
});

export const memoryText = ({ gateway, children }: Memory): string =>
  `${gateway.toFixed(0)} MB and ${children.toFixed(0)} MB in child processes`;
