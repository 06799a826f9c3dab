/**
 * `npm run bench -- hostile [--seconds N]`: hostile clients, whose connections send 1-byte chunks at full speed, with
 * and without a key, and what another client sees meanwhile: on the gateway, and in the same run on Bun.serve and on
 * node:http. Then the memory of 5,000 idle connections. Loopback only.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { idleMemory } from "./idle-connections.ts";
import { cpuMs } from "./proc.ts";
import { cores, endWithParent, firstLine, type Running, start, stopAll } from "./processes.ts";
import { key } from "./scenarios.ts";
import { startVexel } from "./vexel.ts";

const { values: options } = parseArgs({ options: { seconds: { type: "string", default: "4" } } });
const seconds = Number(options.seconds);
const folder = mkdtempSync(join(tmpdir(), "vexel-hostile-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const loads = [
  { name: "idle", connections: 0, key: "" },
  { name: "1 connection without a key", connections: 1, key: "" },
  { name: "8 connections without a key", connections: 8, key: "" },
  { name: "1 connection with a key", connections: 1, key },
  { name: "8 connections with a key", connections: 8, key },
] as const;
endWithParent((90 + 3 * loads.length * (seconds + 3)) * 1000);

interface Server {
  readonly name: string;
  readonly port: number;
  readonly process: Running;
}

async function startPlain(kind: "bun" | "node", name: string): Promise<Server> {
  const runtime = kind === "node" ? (Bun.which("node") ?? process.execPath) : process.execPath;
  const script = join(import.meta.dir, "plain-server.mjs");
  const child = start([runtime, script, kind], cores.proxy, { listen: true });
  return { name, port: Number(await firstLine(child)), process: child };
}

async function startGateway(): Promise<Server> {
  const { url, process: child } = await startVexel({ folder, upstream: "http://127.0.0.1:9" });
  return { name: "vexel", port: Number(new URL(url).port), process: child };
}

/**
 * Sends one request after another on a keep-alive connection, with pauses of 5 ms. Returns the latencies in ms, sorted.
 */
async function measureLatencies(port: number, ms: number): Promise<number[]> {
  const until = performance.now() + ms;
  const latencies: number[] = [];
  const socket = connect(port, "127.0.0.1");
  socket.setNoDelay(true);
  let onResponse: (() => void) | undefined;
  socket.on("data", () => onResponse?.());
  socket.on("error", () => onResponse?.());
  while (performance.now() < until) {
    const sent = performance.now();
    await new Promise<void>((resolve) => {
      onResponse = resolve;
      socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
    });
    latencies.push(performance.now() - sent);
    await Bun.sleep(5);
  }
  socket.destroy();
  return latencies.sort((a, b) => a - b);
}

const at = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;

async function measure(server: Server, load: (typeof loads)[number]): Promise<string> {
  const script = join(import.meta.dir, "tiny-chunks.ts");
  const args = [server.port, load.connections, seconds, load.key].map(String);
  const sender = start([process.execPath, script, ...args], cores.rest, { listen: true });
  await Bun.sleep(300);
  const before = cpuMs(server.process.pid);
  const latencies = await measureLatencies(server.port, seconds * 1000 - 500);
  const cpu = (cpuMs(server.process.pid) - before) / (seconds * 1000 - 500);
  const sent = JSON.parse(await firstLine(sender)) as { bytes: number; opened: number };
  await sender.stop();
  const [p50, p99, most] = [
    at(latencies, 0.5),
    at(latencies, 0.99),
    latencies.at(-1) ?? Number.NaN,
  ];
  const figures = [p50, p99, most].map((ms) => ms.toFixed(1).padStart(8)).join(" ");
  const megabytes = (sent.bytes / 1e6 / seconds).toFixed(1).padStart(7);
  return `${server.name.padEnd(9)} ${load.name.padEnd(28)} ${figures}  ${megabytes}  ${(cpu * 100).toFixed(0).padStart(4)}%  ${String(sent.opened).padStart(5)}`;
}

try {
  console.log(
    `server    load                           p50 ms   p99 ms   max ms     MB/s    CPU  opened`,
  );
  const servers = [
    await startGateway(),
    await startPlain("bun", "Bun.serve"),
    await startPlain("node", "node:http"),
  ];
  for (const load of loads) {
    for (const server of servers) console.log(await measure(server, load));
  }
  for (const { name, port, process: child } of servers) {
    const { connections, soon, later } = await idleMemory(port, child.pid, 5000);
    console.log(
      `${name.padEnd(9)} ${connections} idle connections with heads of 15 KB: +${soon.toFixed(0)} MB, +${later.toFixed(0)} MB after 8 s`,
    );
  }
} catch (error) {
  console.error(`bench: could not run: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 2;
}
await stopAll();
process.exit();
