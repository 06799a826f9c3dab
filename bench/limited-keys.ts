/**
 * What shared limits cost: the CPU of a gateway with and without Redis, for cached texts of many keys with limits and
 * budgets, and the CPU and the calls of Redis.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startRedis } from "../test/storage/redis-server.ts";
import { cpuMs } from "./proc.ts";
import { cores, freePort, type Running, ready, start } from "./processes.ts";
import { serveCommand, workingTree } from "./vexel.ts";

const maxMicroseconds = 60;
const [rounds, requestsPerRound, connections] = [7, 4000, 32] as const;

const keyOf = (number: number): string => `sk-bench-${String(number).padStart(8, "0")}`;

/** Short: a configuration file has at most 1 MiB. */
const limited = "limits: {requestsPerMinute: 1e6,concurrent: 99},budget: {day: 9}";

const configuration = (upstream: string, keys: number): string => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${upstream}/v1", apiKey: sk-fake }
models:
  - { id: text-embedding-3-small, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }
keys:
${Array.from({ length: keys }, (_, at) => `- {name: k${at},key: ${keyOf(at)},${limited}}`).join("\n")}
`;

interface Gateway {
  readonly url: string;
  readonly process: Running;
}

async function startLimited(
  folder: string,
  yaml: string,
  settings: Readonly<Record<string, string>>,
): Promise<Gateway> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "vexel.yaml"), yaml);
  const port = freePort();
  const env = {
    HOST: "127.0.0.1",
    PORT: String(port),
    VEXEL_CONFIG: join(folder, "vexel.yaml"),
    VEXEL_DATA: join(folder, "data"),
    ...settings,
  };
  const logFile = join(folder, "log.jsonl");
  const child = start(serveCommand(workingTree), cores.proxy, { env, logFile });
  const url = `http://127.0.0.1:${port}`;
  await ready(`${url}/readyz`, child, 60_000);
  return { url, process: child };
}

/** Sends requests of all keys in turn. Returns the microseconds of the gateway's CPU per request. */
async function load({ url, process: child }: Gateway, keys: number): Promise<number> {
  const body = JSON.stringify({ model: "text-embedding-3-small", input: "a red boat" });
  let sent = 0;
  const before = cpuMs(child.pid);
  const send = async (): Promise<void> => {
    while (sent < requestsPerRound) {
      const authorization = `Bearer ${keyOf(sent++ % keys)}`;
      const headers = { authorization, "content-type": "application/json" };
      const response = await fetch(`${url}/v1/embeddings`, { method: "POST", headers, body });
      if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: connections }, send));
  return ((cpuMs(child.pid) - before) * 1000) / requestsPerRound;
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

export async function measureLimitedKeys(folder: string, keys: number): Promise<void> {
  await using started = new AsyncDisposableStack();
  const embedding = Array.from({ length: 1536 }, (_, at) => at / 1536);
  const upstream = Bun.serve({
    port: 0,
    fetch: () =>
      Response.json({
        object: "list",
        model: "text-embedding-3-small",
        data: [{ object: "embedding", index: 0, embedding }],
        usage: { prompt_tokens: 3, total_tokens: 3 },
      }),
  });
  started.defer(() => upstream.stop(true));
  const redis = await startRedis();
  started.defer(() => redis.stop());
  const yaml = configuration(`http://127.0.0.1:${upstream.port}`, keys);
  const without = await startLimited(join(folder, `${keys}-without`), yaml, {});
  started.defer(() => without.process.stop());
  const settings = { REDIS_URL: redis.url, VEXEL_CACHE_REDIS_TTL: "0" };
  const shared = await startLimited(join(folder, `${keys}-with`), yaml, settings);
  started.defer(() => shared.process.stop());
  const infoOf = async (section: string, field: RegExp): Promise<number> =>
    [...String(await redis.command("INFO", section)).matchAll(field)].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    );
  const redisState = async () => ({
    cpuSeconds: await infoOf("cpu", /used_cpu_(?:sys|user):([\d.]+)/g),
    calls: await infoOf("commandstats", /cmdstat_evalsha:calls=(\d+)/g),
  });
  for (const gateway of [without, shared]) await load(gateway, keys);
  const before = await redisState();
  const costs: number[] = [];
  const baseline: number[] = [];
  for (let round = 0; round < rounds; round++) {
    baseline.push(await load(without, keys));
    costs.push(await load(shared, keys));
  }
  const after = await redisState();
  const requests = rounds * requestsPerRound;
  const more = median(costs) - median(baseline);
  const missed = more > maxMicroseconds ? `  MISSED: above ${maxMicroseconds}` : "";
  const redisMicroseconds = ((after.cpuSeconds - before.cpuSeconds) * 1e6) / requests;
  console.log(
    `${keys} limited keys: ${more.toFixed(0)} µs of CPU per request more than without Redis (${median(costs).toFixed(0)} and ${median(baseline).toFixed(0)})${missed}; per request ${((after.calls - before.calls) / requests).toFixed(2)} script calls and ${redisMicroseconds.toFixed(0)} µs of CPU of Redis`,
  );
}
