/** What the gateway takes, told apart: the process that callers talk to, and those that do its work on pixels. */

import { commandOf, rssMegabytes, treeOf, watchPeak } from "./proc.ts";

/** In MB. */
export interface Memory {
  readonly gateway: number;
  readonly children: number;
}

const isChild = (pid: number): boolean => commandOf(pid).includes("/upstream/local/");
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

export const highest = (each: readonly Memory[]): Memory => ({
  gateway: Math.max(...each.map(({ gateway }) => gateway)),
  children: Math.max(...each.map(({ children }) => children)),
});

export const memoryText = ({ gateway, children }: Memory): string =>
  `${gateway.toFixed(0)} MB and ${children.toFixed(0)} MB in child processes`;
