/**
 * The p99 of an interactive client, with and without a batch that saturates the same upstream. The time for which the
 * gateway, the upstream and the client were ready to run and waited for a core is subtracted, so that other load on the
 * machine does not count.
 */
import { readFileSync } from "node:fs";
import { median } from "../measure.ts";
import { BatchClient } from "./batch-client.ts";
import { key, slots, targets } from "./figures.ts";
import { type JobsGateway, type Report, verdict } from "./gateway.ts";

const [requests, rounds] = [400, 5] as const;

/** In milliseconds. */
interface Latency {
  readonly whole: number;
  readonly withoutWaits: number;
}

export async function measureInteractive(
  gateway: JobsGateway,
  upstreamPid: number,
  lines: number,
  report: Report,
): Promise<void> {
  const client = new BatchClient(gateway.url);
  const file = await client.upload(lines, "/v1/embeddings", (line) => ({
    model: "in-slots",
    input: `line ${line}: a red boat lies in the harbor`,
    dimensions: 8,
  }));
  const measure = (series: string): Promise<Latency> => p99(gateway, upstreamPid, series);
  await measure("warm-up");
  const [alone, beside]: [Latency[], Latency[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    alone.push(await measure(`alone ${round}`));
    const { id } = await client.create(file, "/v1/embeddings");
    await client.started(id);
    beside.push(await measure(`beside ${round}`));
    const batch = await client.find(id);
    if (batch?.status !== "in_progress")
      throw new Error(`the batch is ${batch?.status}: more lines are needed`);
    await client.cancel(id);
    await client.end(id);
  }
  const textOf = (latencies: readonly Latency[]): string =>
    `${medianOf(latencies, "withoutWaits").toFixed(1)} ms (${medianOf(latencies, "whole").toFixed(1)} with waits for a core)`;
  const ratio = medianOf(beside, "withoutWaits") / medianOf(alone, "withoutWaits");
  report(
    `p99 of an interactive client without a batch ${textOf(alone)}, with one ${textOf(beside)}: ${ratio.toFixed(2)} times`,
    verdict(ratio <= targets.interactiveRatio, `above ${targets.interactiveRatio} times`),
  );
}

const medianOf = (latencies: readonly Latency[], figure: keyof Latency): number =>
  median(latencies.map((latency) => latency[figure]));

/** Milliseconds for which the main thread was ready to run and waited for a core. */
const waitedMs = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, "latin1").split(" ")[1]) / 1e6;

async function p99(
  { url, pid }: JobsGateway,
  upstreamPid: number,
  series: string,
): Promise<Latency> {
  const waited = (): number => waitedMs(pid()) + waitedMs(upstreamPid) + waitedMs(process.pid);
  const latencies: Latency[] = [];
  for (let sent = 0; sent < requests; sent++) {
    const [waitedBefore, began] = [waited(), performance.now()];
    const response = await fetch(`${url()}/v1/embeddings`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "in-slots", input: `${series} ${sent}`, dimensions: 8 }),
    });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    await response.arrayBuffer();
    const whole = performance.now() - began;
    // A process may also wait while the request is at the upstream.
    const withoutWaits = Math.max(slots.ms, whole - (waited() - waitedBefore));
    latencies.push({ whole, withoutWaits });
  }
  const at = (figure: keyof Latency): number =>
    latencies.map((latency) => latency[figure]).sort((a, b) => a - b)[
      Math.floor(latencies.length * 0.99)
    ] as number;
  return { whole: at("whole"), withoutWaits: at("withoutWaits") };
}
