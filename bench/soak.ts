/**
 * `npm run soak -- --minutes N` (default 20): soak test: steady load of embeddings and images with the official SDK.
 * Exits with 1 if memory, open descriptors or the 99th percentile of the latency grow, or if a request fails.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import OpenAI from "openai";
import { startFake } from "../test/fake-upstream.ts";
import { configFor, startProcess, testKey } from "../test/harness.ts";
import { median } from "./measure.ts";
import { rssMegabytes, treeOf } from "./proc.ts";

const { values } = parseArgs({
  args: process.argv.slice(2),
  options: { minutes: { type: "string", default: "20" }, rate: { type: "string", default: "100" } },
});
const minutes = Number(values.minutes);
if (!(minutes >= 1)) throw new Error("--minutes must be at least 1");

const windowMs = 5000;
/** Caches fill, code is compiled, and worker processes start. */
const warmUpMs = Math.min(120_000, (minutes * 60_000) / 4);
const embeddingClients = 8;
const embeddingsPerSecond = Number(values.rate);
const imageClients = 2;
const imagesPerSecond = 4;

interface Sample {
  readonly rss: number;
  readonly descriptors: number;
  readonly p99: number;
}

const folder = mkdtempSync(join(tmpdir(), "vexel-soak-"));
const fake = startFake();
const gateway = await startProcess({
  folder,
  yaml: configFor(fake.url),
  // Images expire during the run, so that their deletion is part of it.
  env: {
    VEXEL_CACHE_BYTES: String(4 * 1024 * 1024),
    VEXEL_IMAGE_TTL: "30",
    VEXEL_RESPONSE_TTL: "30",
  },
});
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: testKey, maxRetries: 0 });

const failures: string[] = [];
let latencies: number[] = [];
let requests = 0;
const end = performance.now() + minutes * 60_000;

/** Sends requests one after the other, at a fixed rate unless a response takes longer. */
async function repeat(perSecond: number, send: (at: number) => Promise<unknown>): Promise<void> {
  const everyMs = 1000 / perSecond;
  let next = performance.now() + Math.random() * everyMs;
  for (let at = 0; performance.now() < end; at++) {
    await Bun.sleep(Math.max(0, next - performance.now()));
    next = Math.max(next + everyMs, performance.now());
    const start = performance.now();
    try {
      await send(at);
      latencies.push(performance.now() - start);
    } catch (error) {
      failures.push(String(error));
    }
    requests++;
  }
}

/** Half of the inputs are new, the others are cached. */
const embed = (name: number) => (at: number) =>
  client.embeddings.create({
    model: "text-embedding-3-small",
    input: at % 2 === 0 ? `text ${name} ${at}` : [`text ${at % 50}`, `another text ${at % 7}`],
  });

/** In turn: base64, a link that is opened, a stream, and an idempotent request with its replay. */
async function generate(at: number): Promise<void> {
  const request = { model: "gpt-image-2", prompt: `an otter ${at}` } as const;
  if (at % 4 === 0) await client.images.generate(request);
  else if (at % 4 === 1) {
    const { data } = await client.images.generate({ ...request, response_format: "url" });
    const image = await fetch(data?.[0]?.url ?? "");
    if (image.status !== 200) throw new Error(`the image link got ${image.status}`);
    await image.bytes();
  } else if (at % 4 === 2) {
    for await (const event of await client.images.generate({ ...request, stream: true }))
      void event;
  } else {
    const headers = { "idempotency-key": crypto.randomUUID() };
    await client.images.generate(request, { headers });
    await client.images.generate(request, { headers });
  }
}

const samples: Sample[] = [];
const started = performance.now();
const sampling = setInterval(() => {
  const sorted = latencies.toSorted((a, b) => a - b);
  latencies = [];
  // The fake upstream records every request.
  fake.clear();
  const sample: Sample = {
    rss: rssMegabytes(gateway.pid),
    descriptors: treeOf(gateway.pid).reduce((sum, pid) => sum + descriptorsOf(pid), 0),
    p99: sorted[Math.floor(sorted.length * 0.99)] ?? 0,
  };
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log(
    `${String(seconds).padStart(5)} s  ${sample.rss.toFixed(0).padStart(5)} MB  ${sample.descriptors} descriptors  p99 ${sample.p99.toFixed(1)} ms  ${requests} requests`,
  );
  if (performance.now() - started > warmUpMs) samples.push(sample);
}, windowMs);

await Promise.all([
  ...Array.from({ length: embeddingClients }, (_, name) =>
    repeat(embeddingsPerSecond / embeddingClients, embed(name)),
  ),
  ...Array.from({ length: imageClients }, () => repeat(imagesPerSecond / imageClients, generate)),
]);
clearInterval(sampling);
gateway.kill("SIGTERM");
const exitCode = await gateway.exited;
fake.close();
rmSync(folder, { recursive: true, force: true });

const third = Math.max(1, Math.floor(samples.length / 3));
const problems = [
  ...judge("memory in MB", ({ rss }) => rss, 1.1, 10),
  ...judge("descriptors", ({ descriptors }) => descriptors, 1, 8),
  ...judge("p99 in ms", ({ p99 }) => p99, 1.5, 10),
  ...(failures.length > 0 ? [`${failures.length} requests failed, such as: ${failures[0]}`] : []),
  ...(exitCode === 0 ? [] : [`the gateway ended with exit code ${exitCode}`]),
];
console.log(problems.length === 0 ? "Nothing grew." : problems.join("\n"));
process.exit(problems.length === 0 ? 0 : 1);

/** Compares the first third of the samples with the last. Growth by the factor and the amount together is allowed. */
function judge(
  name: string,
  figureOf: (sample: Sample) => number,
  factor: number,
  amount: number,
): string[] {
  const first = median(samples.slice(0, third).map(figureOf));
  const last = median(samples.slice(-third).map(figureOf));
  console.log(`${name}: ${first.toFixed(1)} at first, ${last.toFixed(1)} at the end`);
  return last <= first * factor + amount
    ? []
    : [`${name} grew from ${first.toFixed(1)} to ${last.toFixed(1)}`];
}

function descriptorsOf(pid: number): number {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    // The process has ended meanwhile.
    return 0;
  }
}
