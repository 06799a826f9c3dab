/**
 * Kill -9 at random in the middle of batches, on one replica and on three: every line is in the output or the error file
 * once, the counts are exact, and no image is sent twice.
 */
import { join } from "node:path";
import { startFakeS3 } from "../../test/fake-s3.ts";
import { sharedPostgres } from "../../test/storage/postgres-server.ts";
import { type Batch, BatchClient, type Endpoint } from "./batch-client.ts";
import { type JobsGateway, type Report, startJobsGateway, verdict } from "./gateway.ts";

const kills = 10;
/** Lines of a batch of images for each 100 lines of embeddings. */
const imageShare = 1 / 100;

interface KillsOptions {
  readonly folder: string;
  readonly upstream: string;
  readonly lines: number;
  readonly report: Report;
}

export async function measureKills(options: KillsOptions, replicas: 1 | 3): Promise<void> {
  await using started = new AsyncDisposableStack();
  const gateways: JobsGateway[] = [];
  const env = replicas === 1 ? {} : await sharedStorage(started);
  for (let at = 0; at < replicas; at++) {
    const folder = join(options.folder, `${replicas}-${at}`);
    const gateway = await startJobsGateway(folder, options.upstream, env);
    started.defer(() => gateway.stop());
    gateways.push(gateway);
  }
  const images = Math.ceil(options.lines * imageShare);
  await killDuring(options, gateways, "/v1/embeddings", options.lines, (line) => ({
    model: "text-embedding-3-small",
    input: `line ${line}`,
    dimensions: 8,
  }));
  await killDuring(options, gateways, "/v1/images/generations", images, (line) => ({
    model: "gpt-image-2",
    prompt: `${replicas} replicas, image ${line}`,
  }));
}

async function sharedStorage(started: AsyncDisposableStack): Promise<Record<string, string>> {
  const s3 = startFakeS3();
  started.defer(async () => s3.stop());
  return {
    DATABASE_URL: await (await sharedPostgres()).createDatabase(),
    BLOB_URL: s3.url("vexel"),
    VEXEL_SECRET: "a-secret-of-all-replicas",
  };
}

async function killDuring(
  { upstream, report }: KillsOptions,
  gateways: readonly JobsGateway[],
  endpoint: Endpoint,
  lines: number,
  bodyOf: (line: number) => unknown,
): Promise<void> {
  let asked = 0;
  const client = new BatchClient(() => gateways[asked++ % gateways.length]?.url() ?? "");
  const file = await client.upload(lines, endpoint, bodyOf);
  const { id } = await client.create(file, endpoint);
  await client.started(id);
  let killed = 0;
  let batch: Batch | undefined;
  // A kill at each eleventh of the lines, of a replica by chance, and a bit later by chance.
  while (killed < kills) {
    batch = await client.find(id);
    const done = batch ? batch.request_counts.completed + batch.request_counts.failed : 0;
    if (batch && batch.status !== "in_progress") break;
    if (done < (lines * killed) / (kills + 1)) {
      await Bun.sleep(5);
      continue;
    }
    await Bun.sleep(Math.random() * 200);
    await gateways[Math.floor(Math.random() * gateways.length)]?.restart();
    killed++;
  }
  const problems = [...(await client.verify(await client.end(id), lines))];
  if (killed < kills) problems.push(`only ${killed} of ${kills} kills: more lines are needed`);
  const sent = (await (await fetch(`${upstream}/images`)).json()) as { twice: number };
  if (sent.twice > 0) problems.push(`${sent.twice} images were sent twice`);
  const replicas = gateways.length === 1 ? "one replica" : `${gateways.length} replicas`;
  report(
    `${lines} lines of ${endpoint}, ${killed} kills, ${replicas}: ${problems.join("; ") || "each line once, counts exact, no image sent twice"}`,
    verdict(problems.length === 0, "results are wrong"),
  );
}
