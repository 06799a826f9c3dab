/** Replaces wrk if it is not installed: closed loops of fetch. Its own CPU cost is higher. */

interface LoadJob {
  readonly url: string;
  /** Parts of the body; the series and the turn are inserted between them, so that each request differs. */
  readonly parts: readonly string[];
  readonly series: string;
  readonly digits: number;
  /** The turn starts again after this many requests. */
  readonly cycle: number;
  readonly headers: Record<string, string>;
  readonly connections: number;
  readonly seconds: number;
}

const job = JSON.parse(process.argv[2] ?? "") as LoadJob;
const { url, parts, series, digits, cycle, headers, connections, seconds } = job;
const started = performance.now();
const until = started + seconds * 1000;
const times: number[] = [];
let failures = 0;
let turn = 0;

async function loop(): Promise<void> {
  while (performance.now() < until) {
    const sentAt = performance.now();
    const body = parts.join(series + String(turn++ % cycle).padStart(digits, "0"));
    try {
      const response = await fetch(url, { method: "POST", headers, body });
      await response.arrayBuffer();
      if (!response.ok) failures += 1;
    } catch {
      failures += 1;
    }
    times.push(performance.now() - sentAt);
  }
}

await Promise.all(Array.from({ length: connections }, loop));
times.sort((a, b) => a - b);
const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))];
const result = {
  requests: times.length,
  seconds: (performance.now() - started) / 1000,
  p50Ms: at(0.5),
  p99Ms: at(0.99),
  failures,
};
console.log(`RESULT ${JSON.stringify(result)}`);
