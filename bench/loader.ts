/** Stands in for wrk where it is not installed: closed loops of fetch. Its own cost is higher. */

interface Order {
  readonly url: string;
  /** Of the body; between them goes what makes each request another: the series, and its turn. */
  readonly pieces: readonly string[];
  readonly series: string;
  readonly digits: number;
  readonly headers: Record<string, string>;
  readonly connections: number;
  readonly seconds: number;
}

const order = JSON.parse(process.argv[2] ?? "") as Order;
const { url, pieces, series, digits, headers, connections, seconds } = order;
const started = performance.now();
const until = started + seconds * 1000;
const times: number[] = [];
let failures = 0;
let turn = 0;

async function loop(): Promise<void> {
  while (performance.now() < until) {
    const asked = performance.now();
    const body = pieces.join(series + String(turn++).padStart(digits, "0"));
    try {
      const answer = await fetch(url, { method: "POST", headers, body });
      await answer.arrayBuffer();
      if (!answer.ok) failures += 1;
    } catch {
      failures += 1;
    }
    times.push(performance.now() - asked);
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
