/** Gives processes a share of one core with a control group (cgroup, version 1 or 2). Needs root. */

import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { treeOf } from "./proc.ts";

const root = "/sys/fs/cgroup";
/** Short, so that a process that has used its share waits a few milliseconds, not a tenth of a second. */
const periodUs = 10_000;

/**
 * Limits the process and its current children, all together, to a share of one core. Returns a function that ends it.
 */
export function limitCpu(pid: number, share: number): () => void {
  const isVersion1 = existsSync(join(root, "cpu/cpu.cfs_quota_us"));
  const parent = isVersion1 ? join(root, "cpu") : root;
  const group = join(parent, `vexel-bench-${pid}`);
  const quotaUs = Math.round(periodUs * share);
  mkdirSync(group);
  if (isVersion1) {
    writeFileSync(join(group, "cpu.cfs_period_us"), String(periodUs));
    writeFileSync(join(group, "cpu.cfs_quota_us"), String(quotaUs));
  } else writeFileSync(join(group, "cpu.max"), `${quotaUs} ${periodUs}`);
  for (const each of treeOf(pid)) writeFileSync(join(group, "cgroup.procs"), String(each));
  return () => {
    for (const each of treeOf(pid)) writeFileSync(join(parent, "cgroup.procs"), String(each));
    rmdirSync(group);
  };
}
