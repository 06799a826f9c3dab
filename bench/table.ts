/** Prints figures side by side, and the second column as a multiple of the first. */

import type { Figures } from "./measure.ts";

const rows: readonly [string, keyof Figures, number][] = [
  ["requests/s", "requestsPerSecond", 0],
  ["p50 ms", "p50Ms", 2],
  ["p99 ms", "p99Ms", 2],
  ["CPU us/request", "cpuUsPerRequest", 1],
  ["upstream req./req.", "upstreamRequests", 3],
  ["share of its core", "coreShare", 2],
  ["peak memory MB", "peakMegabytes", 1],
];

const line = (cells: readonly string[]): string =>
  cells.map((cell, at) => (at === 0 ? cell.padEnd(20) : cell.padStart(14))).join("");

export function figureTable(columns: Readonly<Record<string, Figures>>): string {
  const names = Object.keys(columns);
  const [first, second] = Object.values(columns);
  const lines = rows.map(([label, field, places]) =>
    line([
      label,
      ...Object.values(columns).map((figures) => figures[field].toFixed(places)),
      ...(first && second ? [(second[field] / first[field]).toFixed(2)] : []),
    ]),
  );
  const ratio = second ? [`${names[1]}/${names[0]}`] : [];
  return [line(["", ...names, ...ratio]), ...lines].join("\n");
}
