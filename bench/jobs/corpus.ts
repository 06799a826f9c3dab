/** A corpus as one batch: memory, CPU per line beyond the same inputs in requests of 100, and the results. */
import { cpuMs, rssMegabytes } from "../proc.ts";
import { BatchClient } from "./batch-client.ts";
import { key, targets } from "./figures.ts";
import { type JobsGateway, type Report, verdict } from "./gateway.ts";

const inputsPerRequest = 100;
const connections = 8;
/** The pipeline is measured with this share of the lines, and at most with this many. */
const [referenceShare, mostReferenceLines] = [1 / 5, 1_000_000];
/** The cache is full and the code is compiled after this share of the lines. */
const warmUpShare = 0.2;

/** As long as a sentence. */
const textOf = (series: string, line: number): string =>
  `${series} ${line}: a red boat lies in the harbor of a small town on the coast`;

const bodyOf = (input: unknown) => ({
  model: "text-embedding-3-small",
  input,
  dimensions: 8,
  encoding_format: "base64",
});

export async function measureCorpus(
  gateway: JobsGateway,
  lines: number,
  report: Report,
): Promise<void> {
  const pid = gateway.pid();
  const reference = await measureRequests(
    gateway,
    Math.min(lines * referenceShare, mostReferenceLines),
  );
  const client = new BatchClient(gateway.url);
  const file = await client.upload(lines, "/v1/embeddings", (line) => bodyOf(textOf("line", line)));
  const [cpuBefore, startedAt] = [cpuMs(pid), performance.now()];
  let [warm, peak] = [0, 0];
  const { id } = await client.create(file, "/v1/embeddings");
  const batch = await client.end(id, ({ request_counts: { completed, total } }) => {
    if (total === 0 || completed < total * warmUpShare) return;
    const megabytes = rssMegabytes(pid);
    warm ||= megabytes;
    peak = Math.max(peak, megabytes);
  });
  const seconds = (performance.now() - startedAt) / 1000;
  const each = ((cpuMs(pid) - cpuBefore) * 1000) / lines;
  const problems = await client.verify(batch, lines);
  const more = each - reference;
  report(
    `${lines} lines in ${seconds.toFixed(0)} s, ${Math.round(lines / seconds)} lines/s; results ${problems.join("; ") || "complete"}`,
    verdict(problems.length === 0, "results are not complete"),
  );
  report(
    `${each.toFixed(1)} µs of CPU per line, ${more.toFixed(1)} µs more than ${reference.toFixed(1)} µs of an input in requests of ${inputsPerRequest}`,
    verdict(more <= targets.microsecondsPerLine, `above ${targets.microsecondsPerLine} µs`),
  );
  report(
    `memory ${warm.toFixed(0)} MB after the warm-up, at most ${(peak - warm).toFixed(0)} MB more until the end`,
    verdict(peak - warm <= targets.growthMegabytes, `above ${targets.growthMegabytes} MB`),
  );
}

/** Microseconds of CPU per input, after a warm-up of the same size. */
async function measureRequests({ url, pid }: JobsGateway, inputs: number): Promise<number> {
  const send = async (series: string): Promise<void> => {
    let next = 0;
    const loop = async (): Promise<void> => {
      while (next < inputs) {
        const from = next;
        next += inputsPerRequest;
        const texts = Array.from({ length: inputsPerRequest }, (_, at) =>
          textOf(series, from + at),
        );
        const response = await fetch(`${url()}/v1/embeddings`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify(bodyOf(texts)),
        });
        if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
        await response.arrayBuffer();
      }
    };
    await Promise.all(Array.from({ length: connections }, loop));
  };
  await send("warm-up");
  const before = cpuMs(pid());
  await send("request");
  return ((cpuMs(pid()) - before) * 1000) / inputs;
}
