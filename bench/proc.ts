/** CPU time and memory of a process and all its descendants, from /proc. */

import { readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";

// USER_HZ, which is 100 on every Linux that Bun runs on.
const msPerTick = 10;

/** A process may end between listing and reading; it then counts as zero. */
const read = (path: string): string => {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
};

/** The fields after the name, which may contain spaces and parentheses; [0] is the state. */
const statOf = (pid: number): string[] => {
  const text = read(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
};

export function treeOf(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const parent = Number(statOf(pid)[1]);
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const grow = (pid: number): number[] => [pid, ...(children.get(pid) ?? []).flatMap(grow)];
  return grow(root);
}

const sum = (values: readonly number[]): number =>
  values.reduce((total, value) => total + value, 0);

/** User and system time so far, in milliseconds, of the process tree and of its ended children. */
export const cpuMs = (root: number): number =>
  msPerTick *
  sum(
    treeOf(root)
      .flatMap((pid) => statOf(pid).slice(11, 15).map(Number))
      .filter(Number.isFinite),
  );

/** CPU time of all processes of the machine so far, and the time that the hypervisor took (steal). */
export function machineMs(): { readonly worked: number; readonly stolen: number } {
  const [user = 0, nice = 0, system = 0, , , , , steal = 0] = read("/proc/stat")
    .split("\n", 1)[0]!
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return { worked: (user + nice + system) * msPerTick, stolen: steal * msPerTick };
}

const statusKilobytes = (pid: number, field: "VmRSS" | "VmHWM"): number =>
  Number(new RegExp(`${field}:\\s+(\\d+)`).exec(read(`/proc/${pid}/status`))?.[1] ?? 0);

/** The command line, separated by spaces. */
export const commandOf = (pid: number): string =>
  read(`/proc/${pid}/cmdline`).replaceAll("\0", " ");

/** Open unlinked files, in which the gateway stores large bodies. */
export function unlinkedFilesOf(root: number): number {
  const isUnlinked = (link: string): boolean => {
    try {
      return readlinkSync(link).endsWith(" (deleted)");
    } catch {
      return false; // Closed meanwhile.
    }
  };
  return treeOf(root).flatMap((pid) => {
    const folder = `/proc/${pid}/fd`;
    return readdirSync(folder).filter((name) => isUnlinked(`${folder}/${name}`));
  }).length;
}

/** Selects processes of a tree. */
type Members = (root: number) => number[];

export const rssMegabytes = (root: number, members: Members = treeOf): number =>
  sum(members(root).map((pid) => statusKilobytes(pid, "VmRSS"))) / 1024;

/**
 * Proportional set size (PSS): a page that several processes share, such as the program itself, counts once in total.
 */
export const pssMegabytes = (root: number): number =>
  sum(
    treeOf(root).map((pid) =>
      Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0),
    ),
  ) / 1024;

/**
 * The maximum RSS between now and `peak()`. The kernel's high-water mark is used if it can be reset;
 * samples add the processes that started and ended in between.
 */
export function watchPeak(
  root: number,
  everyMs = 50,
  members: Members = treeOf,
): { peak(): number } {
  for (const pid of members(root)) {
    try {
      writeFileSync(`/proc/${pid}/clear_refs`, "5");
    } catch {
      // Not permitted here: only samples are used, because the marks would include earlier peaks.
      return sampled(root, everyMs, members);
    }
  }
  const samples = sampled(root, everyMs, members);
  return {
    peak: () => {
      const marks = sum(members(root).map((pid) => statusKilobytes(pid, "VmHWM"))) / 1024;
      return Math.max(samples.peak(), marks);
    },
  };
}

function sampled(root: number, everyMs: number, members: Members): { peak(): number } {
  let highest = rssMegabytes(root, members);
  const timer = setInterval(() => {
    highest = Math.max(highest, rssMegabytes(root, members));
  }, everyMs);
  return {
    peak: () => {
      clearInterval(timer);
      return Math.max(highest, rssMegabytes(root, members));
    },
  };
}
