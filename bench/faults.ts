/**
 * `npm run bench -- faults [--seconds N] [--rate N] [--only MODE,MODE]` Fault injection: a real gateway with two real
 * upstreams, at a constant rate: one of them begins to misbehave, or both go down and come back. Prints what clients
 * see, the extra upstream requests, and the time to recovery. In the mode `slow`, both upstreams respond slowly to a few
 * requests, and a model with two targets (hedged) is compared with a model with one (not hedged). Loopback only.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { type CompletedRequest, percentile, startLoad, successRate } from "./fault-load.ts";
import { type Mode, modes } from "./faulty-upstream.ts";
import {
  cores,
  endWithParent,
  freePort,
  linesOf,
  type Running,
  ready,
  start,
  stopAll,
} from "./processes.ts";
import { key } from "./scenarios.ts";
import { serveCommand, workingTree } from "./vexel.ts";

const faultyModes = modes.filter((mode) => mode !== "healthy");
const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "20" },
    rate: { type: "string", default: "200" },
    only: { type: "string", default: [...faultyModes, "both-down"].join(",") },
  },
});
const [seconds, rate] = [Number(options.seconds), Number(options.rate)];
const chosen = options.only.split(",");
/** After this time the gateway should have detected the fault. */
const detectionMs = 3000;
const healthyMs = Math.max(5000, (seconds * 1000) / 2);
const folder = mkdtempSync(join(tmpdir(), "vexel-faults-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
endWithParent((60 + chosen.length * (seconds * 2 + 30)) * 1000);

interface Upstream {
  readonly port: number;
  setMode(mode: Mode): void;
  count(): Promise<number>;
  stop(): Promise<void>;
}

async function startUpstream(port = 0): Promise<Upstream> {
  const command = [process.execPath, join(import.meta.dir, "faulty-upstream.ts"), String(port)];
  const child = start(command, cores.rest, { listen: true });
  const lines = linesOf(child);
  const next = async (): Promise<number> => Number((await lines.next()).value);
  return {
    port: await next(),
    setMode: (mode) => child.writeLine(mode),
    count: () => {
      child.writeLine("count");
      return next();
    },
    stop: () => child.stop(),
  };
}

async function startGateway(
  name: string,
  ports: readonly number[],
): Promise<{ url: string; child: Running }> {
  const home = join(folder, name);
  mkdirSync(home, { recursive: true });
  const config = join(home, "vexel.yaml");
  const upstreams = ports.map(
    (port, at) =>
      `  - { id: u${at}, kind: openai, baseUrl: "http://127.0.0.1:${port}/v1", apiKey: sk-fake }`,
  );
  const targets = ports.map((_, at) => `{ upstream: u${at}, model: faulty }`);
  writeFileSync(
    config,
    `upstreams:\n${upstreams.join("\n")}\nmodels:\n  - { id: faulty, kind: embedding, batch: false, targets: [${targets.join(", ")}] }\n  - { id: ${oneTarget}, kind: embedding, batch: false, targets: [${targets[0]}] }\nkeys:\n  - { name: bench, key: ${key} }\n`,
  );
  const port = freePort();
  const child = start(serveCommand(workingTree), cores.proxy, {
    env: {
      HOST: "127.0.0.1",
      PORT: String(port),
      VEXEL_CONFIG: config,
      VEXEL_DATA: join(home, "data"),
      VEXEL_LOG_LEVEL: "error",
    },
  });
  const url = `http://127.0.0.1:${port}`;
  await ready(`${url}/readyz`, child);
  return { url, child };
}

/** A model with one target, whose requests are never hedged. */
const oneTarget = "one-target";

const percent = (share: number): string => `${(share * 100).toFixed(3)} %`;
const ms = (value: number): string => `${value.toFixed(1)} ms`;

async function measureFault(mode: Mode): Promise<void> {
  const upstreams = await Promise.all([startUpstream(), startUpstream()]);
  const { url, child } = await startGateway(
    mode,
    upstreams.map(({ port }) => port),
  );
  const [first] = upstreams as [Upstream, Upstream];
  await warmUp(url);
  const countAll = async () =>
    (await Promise.all(upstreams.map((each) => each.count()))).reduce((a, b) => a + b);
  const load = startLoad(url, rate);
  await Bun.sleep(healthyMs);
  const before = { upstreamRequests: await countAll(), at: load.now() };
  first.setMode(mode);
  await Bun.sleep(seconds * 1000);
  await load.end();
  const extra = (await countAll()) - before.upstreamRequests;
  const healthy = load.requests.filter(({ at }) => at < before.at - 200);
  const during = load.requests.filter(({ at }) => at >= before.at);
  const after = during.filter(({ at }) => at >= before.at + detectionMs);
  print(mode, healthy, during, after, extra / during.length - 1);
  await child.stop();
  await Promise.all(upstreams.map((each) => each.stop()));
}

/** The first requests of a process are slow, with or without a fault. */
async function warmUp(url: string): Promise<void> {
  const load = startLoad(url, rate);
  await Bun.sleep(3000);
  await load.end();
}

function print(
  mode: string,
  healthy: readonly CompletedRequest[],
  during: readonly CompletedRequest[],
  after: readonly CompletedRequest[],
  extra: number,
): void {
  const [healthyP99, laterP99] = [percentile(healthy, 0.99), percentile(after, 0.99)];
  console.log(
    `${mode.padEnd(10)} ${String(during.length).padStart(6)} requests  served ${percent(successRate(during))} (healthy ${percent(successRate(healthy))})  ` +
      `p99 healthy ${ms(healthyP99)}, during the fault ${ms(percentile(during, 0.99))}, after ${detectionMs / 1000} s ${ms(laterP99)} (x${(laterP99 / healthyP99).toFixed(2)})  ` +
      `slowest ${ms(percentile(during, 1))}  extra upstream requests ${percent(extra)}`,
  );
}

async function measureOutage(): Promise<void> {
  const upstreams = await Promise.all([startUpstream(), startUpstream()]);
  const ports = upstreams.map(({ port }) => port);
  const { url, child } = await startGateway("both-down", ports);
  await warmUp(url);
  const load = startLoad(url, rate);
  await Bun.sleep(3000);
  await Promise.all(upstreams.map((each) => each.stop()));
  const downAt = load.now();
  await Bun.sleep(Math.max(5000, (seconds * 1000) / 2));
  const returned = await Promise.all(ports.map((port) => startUpstream(port)));
  const upAt = load.now();
  await Bun.sleep(8000);
  await load.end();
  const duringOutage = load.requests.filter(({ at }) => at > downAt + 1000 && at < upAt - 1000);
  const firstServed = Math.min(
    ...load.requests
      .filter(({ at, ms: latency, status }) => status === 200 && at + latency > upAt)
      .map(({ at, ms: latency }) => at + latency),
  );
  const lastRefused = Math.max(
    upAt,
    ...load.requests.filter(({ status }) => status !== 200).map(({ at }) => at),
  );
  console.log(
    `both-down  ${String(duringOutage.length).padStart(6)} requests while down, refused within ${ms(percentile(duringOutage, 0.99))} (p99)  ` +
      `first served ${ms(firstServed - upAt)} after the recovery, all served ${ms(lastRefused - upAt)} after it`,
  );
  await child.stop();
  await Promise.all(returned.map((each) => each.stop()));
}

async function measureHedging(): Promise<void> {
  const upstreams = await Promise.all([startUpstream(), startUpstream()]);
  const { url, child } = await startGateway(
    "slow",
    upstreams.map(({ port }) => port),
  );
  await warmUp(url);
  for (const upstream of upstreams) upstream.setMode("slow");
  for (const [model, name] of [
    [oneTarget, "not hedged"],
    ["faulty", "hedged"],
  ]) {
    const load = startLoad(url, rate, model);
    await Bun.sleep(seconds * 1000);
    await load.end();
    const { requests } = load;
    console.log(
      `slow       ${String(requests.length).padStart(6)} requests  ${name}  served ${percent(successRate(requests))}  ` +
        `p50 ${ms(percentile(requests, 0.5))}, p99 ${ms(percentile(requests, 0.99))}, p99.9 ${ms(percentile(requests, 0.999))}`,
    );
  }
  await child.stop();
  await Promise.all(upstreams.map((each) => each.stop()));
}

try {
  console.log(
    `${rate} requests/s, ${seconds} s of each fault, two upstreams, one of which misbehaves\n`,
  );
  for (const mode of chosen) {
    if (mode === "both-down") await measureOutage();
    else if (mode === "slow") await measureHedging();
    else await measureFault(mode as Mode);
  }
} catch (error) {
  console.error(`bench: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 2;
}
await stopAll();
process.exit();
