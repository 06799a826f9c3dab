/**
 * What shared limits cost: the CPU of one gateway or several, with and without Redis, for cached texts of many keys with
 * limits and budgets, and the CPU and the calls of Redis. All gateways share one core; the clients and Redis have the
 * other.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type RedisServer, startRedis } from "../test/storage/redis-server.ts";
import { median } from "./measure.ts";
import { cpuMs } from "./proc.ts";
import { cores, freePort, type Running, ready, start } from "./processes.ts";
import { serveCommand, workingTree } from "./vexel.ts";

const maxMicroseconds = 60;
const [warmUpRequests, requestsPerRound, connections] = [4000, 4000, 32] as const;
/** Rounds are repeated for this time, and at least twice. */
const measuringMs = 60_000;

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

interface Cost {
  readonly perSecond: number;
  /** Microseconds of CPU per request, of all gateways. */
  readonly cpu: number;
  /** Script calls, and microseconds of CPU, of Redis per request. */
  readonly calls: number;
  readonly redisCpu: number;
}

const noRedis = { cpuSeconds: 0, calls: 0 };

async function redisState(redis: RedisServer): Promise<typeof noRedis> {
  const sumOf = async (section: string, field: RegExp): Promise<number> =>
    [...String(await redis.command("INFO", section)).matchAll(field)].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    );
  return {
    cpuSeconds: await sumOf("cpu", /used_cpu_(?:sys|user):([\d.]+)/g),
    calls: await sumOf("commandstats", /cmdstat_evalsha:calls=(\d+)/g),
  };
}

/** Sends requests of all keys in turn, to all gateways in turn. */
async function load(
  gateways: readonly Gateway[],
  keys: number,
  requests: number,
  redis?: RedisServer,
): Promise<Cost> {
  const body = JSON.stringify({ model: "text-embedding-3-small", input: "a red boat" });
  const state = async () => (redis ? redisState(redis) : noRedis);
  const cpu = (): number => gateways.reduce((sum, gateway) => sum + cpuMs(gateway.process.pid), 0);
  const [cpuBefore, before, startedAt] = [cpu(), await state(), performance.now()];
  let sent = 0;
  const send = async (): Promise<void> => {
    while (sent < requests) {
      const number = sent++;
      const headers = {
        authorization: `Bearer ${keyOf(number % keys)}`,
        "content-type": "application/json",
      };
      const url = `${gateways[number % gateways.length]?.url}/v1/embeddings`;
      const response = await fetch(url, { method: "POST", headers, body });
      if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: connections }, send));
  const seconds = (performance.now() - startedAt) / 1000;
  const after = await state();
  return {
    perSecond: requests / seconds,
    cpu: ((cpu() - cpuBefore) * 1000) / requests,
    calls: (after.calls - before.calls) / requests,
    redisCpu: ((after.cpuSeconds - before.cpuSeconds) * 1e6) / requests,
  };
}

const embedding = Array.from({ length: 1536 }, (_, at) => at / 1536);

const startUpstream = () =>
  Bun.serve({
    port: 0,
    fetch: () =>
      Response.json({
        object: "list",
        model: "text-embedding-3-small",
        data: [{ object: "embedding", index: 0, embedding }],
        usage: { prompt_tokens: 3, total_tokens: 3 },
      }),
  });

/** Prints one line for each number of processes. The rounds with and without Redis alternate. */
export async function measureLimitedKeys(
  folder: string,
  keys: number,
  processes: readonly number[],
): Promise<void> {
  await using started = new AsyncDisposableStack();
  const upstream = startUpstream();
  started.defer(() => upstream.stop(true));
  const redis = await startRedis();
  started.defer(() => redis.stop());
  const yaml = configuration(`http://127.0.0.1:${upstream.port}`, keys);
  const open = async (name: string, settings: Readonly<Record<string, string>>) => {
    const gateway = await startLimited(join(folder, `${keys}-${name}`), yaml, settings);
    started.defer(() => gateway.process.stop());
    return gateway;
  };
  const [local, shared]: [Gateway[], Gateway[]] = [[], []];
  for (let at = 0; at < Math.max(...processes); at++) {
    local.push(await open(`${at}-local`, {}));
    shared.push(await open(`${at}`, { REDIS_URL: redis.url, VEXEL_CACHE_REDIS_TTL: "0" }));
  }
  // Compiles the code of each process.
  for (const gateway of [...local, ...shared]) await load([gateway], keys, warmUpRequests);
  const measured = processes.map((count) => ({ count, local: [] as Cost[], shared: [] as Cost[] }));
  const end = performance.now() + measuringMs;
  for (let round = 0; round < 2 || performance.now() < end; round++) {
    for (const one of measured) {
      one.local.push(await load(local.slice(0, one.count), keys, requestsPerRound));
      one.shared.push(await load(shared.slice(0, one.count), keys, requestsPerRound, redis));
    }
  }
  for (const one of measured) {
    const cpu = medianOf(one.shared, "cpu");
    const more = cpu - medianOf(one.local, "cpu");
    const figures = [
      `${keys} limited keys, ${one.count} process${one.count > 1 ? "es" : ""}`.padEnd(32),
      `${medianOf(one.shared, "perSecond").toFixed(0)} requests/s`.padStart(16),
      `${cpu.toFixed(0)} µs of CPU per request, ${more.toFixed(0)} µs more than without Redis`,
      `${medianOf(one.shared, "calls").toFixed(2)} calls and ${medianOf(one.shared, "redisCpu").toFixed(0)} µs of Redis`,
    ];
    const missed = more > maxMicroseconds ? `  MISSED: above ${maxMicroseconds} µs` : "";
    console.log(`${figures.join("  ")}${missed}`);
  }
}

const medianOf = (costs: readonly Cost[], figure: keyof Cost): number =>
  median(costs.map((cost) => cost[figure]));
