/** The p99 of an interactive client, with and without a batch that saturates the same upstream. */
import { median } from "../measure.ts";
import { BatchClient } from "./batch-client.ts";
import { key, targets } from "./figures.ts";
import { type JobsGateway, type Report, verdict } from "./gateway.ts";

const [requests, rounds, connections] = [1500, 5, 2] as const;

export async function measureInteractive(
  gateway: JobsGateway,
  lines: number,
  report: Report,
): Promise<void> {
  const client = new BatchClient(gateway.url);
  const file = await client.upload(lines, "/v1/embeddings", (line) => ({
    model: "in-slots",
    input: `line ${line}: a red boat lies in the harbor`,
    dimensions: 8,
  }));
  await p99(gateway, "warm-up");
  const [alone, beside]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    alone.push(await p99(gateway, `alone ${round}`));
    const { id } = await client.create(file, "/v1/embeddings");
    await client.started(id);
    beside.push(await p99(gateway, `beside ${round}`));
    const batch = await client.find(id);
    if (batch?.status !== "in_progress")
      throw new Error(`the batch is ${batch?.status}: more lines are needed`);
    await client.cancel(id);
    await client.end(id);
  }
  const [without, having] = [median(alone), median(beside)];
  report(
    `p99 of an interactive client ${without.toFixed(1)} ms without a batch, ${having.toFixed(1)} ms with one (${(having / without).toFixed(2)} times)`,
    verdict(
      having <= without * targets.interactiveRatio,
      `above ${targets.interactiveRatio} times`,
    ),
  );
}

async function p99({ url }: JobsGateway, series: string): Promise<number> {
  const times: number[] = [];
  let sent = 0;
  const loop = async (): Promise<void> => {
    while (sent < requests) {
      const input = `${series} ${sent++}`;
      const began = performance.now();
      const response = await fetch(`${url()}/v1/embeddings`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "in-slots", input, dimensions: 8 }),
      });
      if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
      await response.arrayBuffer();
      times.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: connections }, loop));
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] as number;
}
