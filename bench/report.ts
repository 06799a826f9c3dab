/** What the bench found, for people and for machines. */

import type { Figures, UploadFigures } from "./measure.ts";
import { targets, uploads } from "./scenarios.ts";

export interface ScenarioReport {
  readonly name: string;
  readonly connections: number;
  readonly vexel: Figures;
  readonly nginx?: Figures;
}

export interface Report {
  readonly generator: string;
  readonly pinned: boolean;
  readonly seconds: number;
  readonly rounds: number;
  /** What other processes and the host took of the machine meanwhile. */
  readonly coresOfOthers: number;
  readonly scenarios: readonly ScenarioReport[];
  readonly restMegabytes: number;
  readonly readyMs: readonly number[];
  readonly uploads: { readonly vexel: UploadFigures; readonly nginx?: UploadFigures };
}

export interface Verdict {
  readonly name: string;
  readonly value: number;
  readonly target: number;
  readonly unit: string;
  readonly met: boolean;
}

export function verdicts(report: Report, readyMs: number): Verdict[] {
  const judged = (name: string, value: number, target: number, unit: string): Verdict => ({
    name,
    value,
    target,
    unit,
    met: value <= target,
  });
  const worst = Math.max(...report.scenarios.map(({ vexel }) => vexel.peakMegabytes));
  return [
    ...report.scenarios.flatMap(({ name, vexel, nginx }) =>
      nginx
        ? [
            judged(
              `CPU per request, ${name}`,
              vexel.cpuUsPerRequest / nginx.cpuUsPerRequest,
              targets.cpuTimesNginx,
              "x nginx",
            ),
          ]
        : [],
    ),
    judged("memory at rest", report.restMegabytes, targets.restMegabytes, "MB"),
    judged("memory under load", worst, targets.loadMegabytes, "MB"),
    judged("start to ready", readyMs, targets.readyMs, "ms"),
    judged(
      `growth with ${uploads.count} uploads of ${uploads.megabytes} MB`,
      report.uploads.vexel.growthMegabytes,
      targets.uploadGrowthMegabytes,
      "MB",
    ),
  ];
}

/** Cores of others below which a machine counts as quiet. */
const quiet = 0.05;

const rows: readonly [string, keyof Figures, number][] = [
  ["requests/s", "requestsPerSecond", 0],
  ["p50 ms", "p50Ms", 2],
  ["p99 ms", "p99Ms", 2],
  ["CPU us/request", "cpuUsPerRequest", 1],
  ["share of its core", "coreShare", 2],
  ["peak memory MB", "peakMegabytes", 1],
];

function table({ name, connections, vexel, nginx }: ScenarioReport): string {
  const line = (cells: readonly string[]) =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(20) : cell.padStart(12))).join("");
  const lines = rows.map(([label, field, digits]) =>
    line([
      label,
      ...(nginx ? [nginx[field].toFixed(digits)] : []),
      vexel[field].toFixed(digits),
      ...(nginx ? [(vexel[field] / nginx[field]).toFixed(2)] : []),
    ]),
  );
  const heads = nginx ? ["", "nginx", "vexel", "vexel/nginx"] : ["", "vexel"];
  return [`${name} (${connections} connections)`, line(heads), ...lines].join("\n");
}

export function print(report: Report, judged: readonly Verdict[]): void {
  const { generator, pinned, rounds, seconds } = report;
  console.log(
    `\nload: ${generator}, ${rounds} rounds of ${seconds} s each, medians; ${
      pinned ? "proxy on core 0, upstream and load on core 1" : "not pinned to cores"
    }`,
  );
  if (report.coresOfOthers > quiet)
    console.log(
      `NOTE: others used ${report.coresOfOthers.toFixed(2)} cores meanwhile; rates and latencies are worth little, CPU per request is a bit high.`,
    );
  for (const scenario of report.scenarios) console.log(`\n${table(scenario)}`);
  if (report.scenarios.some(({ nginx }) => !nginx))
    console.log("\nnginx is not installed: no ratios.");
  const { vexel, nginx } = report.uploads;
  console.log(
    `\nuploads: ${vexel.seconds.toFixed(1)} s, memory grew by ${vexel.growthMegabytes.toFixed(1)} MB${
      nginx ? ` (nginx: ${nginx.seconds.toFixed(1)} s, ${nginx.growthMegabytes.toFixed(1)} MB)` : ""
    }\nstarts: ready after ${report.readyMs.map((ms) => ms.toFixed(0)).join(", ")} ms\n`,
  );
  for (const { name, value, target, unit, met } of judged)
    console.log(
      `${met ? "ok  " : "MISS"}  ${name}: ${value.toFixed(2)} ${unit} (target <= ${target})`,
    );
}
