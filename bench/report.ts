/** Prints the results of a run for people. */

import type { ScenarioResult, Verdict } from "./result.ts";

export interface Report {
  readonly generator: string;
  readonly pinned: boolean;
  readonly seconds: number;
  readonly rounds: number;
  /** CPU that other processes and the host used during the run, in cores. */
  readonly otherCores: number;
  readonly nginx: boolean;
  readonly findings: readonly ScenarioResult[];
}

/** The results are comparable if other processes used less than this share of a core. */
const quiet = 0.05;

export function print({ findings, ...report }: Report): void {
  const { generator, pinned, rounds, seconds } = report;
  console.log(
    `\nload: ${generator}, ${rounds} rounds of ${seconds} s each in turns after warming up, medians; ${
      pinned ? "proxy on core 0, upstream and load on core 1" : "not pinned to cores"
    }`,
  );
  if (report.otherCores > quiet)
    console.log(
      `NOTE: other processes used ${report.otherCores.toFixed(2)} cores during the run; rates and latencies are not reliable, and CPU per request is slightly too high.`,
    );
  for (const { text } of findings) console.log(`\n${text}`);
  if (!report.nginx) console.log("\nnginx is not installed: no ratios to it.");
  console.log();
  for (const { verdicts } of findings) for (const verdict of verdicts) console.log(lineOf(verdict));
}

const lineOf = ({ name, value, unit, bound, target, met }: Verdict): string =>
  `${met ? "ok  " : "MISS"}  ${name}: ${value.toFixed(value < 1 ? 3 : 2)} ${unit} (target ${bound} ${target})`;
