/** Stands in for wrk where it is not installed: closed loops of fetch. Its own cost is higher. */

interface Order {
  readonly url: string;
  readonly body: string;
  readonly headers: Record<string, string>;
  readonly connections: number;
  readonly seconds: number;
}

const { url, body, headers, connections, seconds } = JSON.parse(process.argv[2] ?? "") as Order;
const started = performance.now();
const until = started + seconds * 1000;
const times: number[] = [];
let failures = 0;

async function loop(): Promise<void> {
  while (performance.now() < until) {
    const asked = performance.now();
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
