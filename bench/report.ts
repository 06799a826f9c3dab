/** What the bench found, for people. */

import type { Finding, Verdict } from "./finding.ts";

export interface Report {
  readonly generator: string;
  readonly pinned: boolean;
  readonly seconds: number;
  readonly rounds: number;
  /** What other processes and the host took of the machine meanwhile. */
  readonly coresOfOthers: number;
  readonly nginx: boolean;
  readonly findings: readonly Finding[];
}

/** Others' share of the machine below which figures are worth comparing. */
const quiet = 0.05;

export function print({ findings, ...report }: Report): void {
  const { generator, pinned, rounds, seconds } = report;
  console.log(
    `\nload: ${generator}, ${rounds} rounds of ${seconds} s each in turns after warming up, medians; ${
      pinned ? "proxy on core 0, upstream and load on core 1" : "not pinned to cores"
    }`,
  );
  if (report.coresOfOthers > quiet)
    console.log(
      `NOTE: others used ${report.coresOfOthers.toFixed(2)} cores meanwhile; rates and latencies are worth little, CPU per request is a bit high.`,
    );
  for (const { text } of findings) console.log(`\n${text}`);
  if (!report.nginx) console.log("\nnginx is not installed: no ratios to it.");
  console.log();
  for (const { verdicts } of findings) for (const verdict of verdicts) console.log(lineOf(verdict));
}

const lineOf = ({ name, value, unit, bound, target, met }: Verdict): string =>
  `${met ? "ok  " : "MISS"}  ${name}: ${value.toFixed(value < 1 ? 3 : 2)} ${unit} (target ${bound} ${target})`;
