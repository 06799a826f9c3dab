/**
 * `npm run bench -- bodies [--only 'CASE|CASE'] [--rounds N] [--max-body BYTES] [--check]`: JSON bodies that are expensive to parse, one
 * at a time, each against a fresh gateway: how long the event loop is blocked (as another connection sees it), how much
 * the gateway's memory grows, and the response. Loopback only. `--check` makes a body that blocks the loop longer than
 * 50 ms, or takes more than 10 times its size, a failure.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { awkwardBodies, request } from "./awkward-bodies.ts";
import { rssMegabytes, treeOf, watchPeak } from "./proc.ts";
import { endWithParent, stopAll } from "./processes.ts";
import { key } from "./scenarios.ts";
import { startVexel } from "./vexel.ts";
import { messageOf, watchLoop } from "./watch-loop.ts";

const MB = 1_000_000;

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: Object.keys(awkwardBodies).join("|") },
    rounds: { type: "string", default: "3" },
    check: { type: "boolean", default: false },
    "max-body": { type: "string" },
  },
});
const rounds = Number(options.rounds);
const folder = mkdtempSync(join(tmpdir(), "vexel-bodies-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
endWithParent((60 + Object.keys(awkwardBodies).length * rounds * 60) * 1000);

/** Opens a connection. */
function open(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    socket.setNoDelay(true);
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.on("error", () => undefined);
      resolve(socket);
    });
  });
}

const writeBytes = 64 * 1024;

/** The status and the `code` of the error of the response, which may come before the body is sent. */
async function send(socket: Socket, body: Buffer): Promise<string> {
  let received = "";
  const responded = new Promise<void>((resolve) => {
    socket.on("data", (bytes: Buffer) => {
      received += bytes.toString("latin1", 0, 600);
      if (received.includes("\r\n\r\n")) resolve();
    });
    socket.on("close", () => resolve());
  });
  socket.write(
    `POST /v1/embeddings HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`,
  );
  for (let at = 0; at < body.length && received === "" && !socket.destroyed; at += writeBytes) {
    const more = socket.write(body.subarray(at, at + writeBytes));
    if (!more) await Promise.race([new Promise((r) => socket.once("drain", r)), responded]);
  }
  await responded;
  const [, code = ""] = /"code": ?"?(\w+)/.exec(received) ?? [];
  return `${received.slice(9, 12)} ${code}`.trim();
}

interface Measured {
  readonly blockedMs: number;
  readonly grownMegabytes: number;
  readonly response: string;
}

async function measure(name: string, body: Buffer, upstream: string): Promise<Measured> {
  const gateway = await startVexel({
    folder: join(folder, name.replaceAll(/\W/g, "-")),
    upstream,
    settings: options["max-body"] ? { VEXEL_MAX_BODY_BYTES: options["max-body"] } : {},
  });
  try {
    const sender = await open(gateway.url);
    // The code is warm, as in a gateway that has served for some time.
    for (let i = 0; i < 20; i++) await send(await open(gateway.url), Buffer.from(`${request}"a"}`));
    const loop = await watchLoop(gateway);
    await Bun.sleep(100);
    const tree = treeOf(gateway.process.pid);
    const members = (): number[] => tree;
    const before = rssMegabytes(gateway.process.pid, members);
    const memory = watchPeak(gateway.process.pid, 10, members);
    const response = await send(sender, body);
    const blockedMs = await loop.end();
    const grownMegabytes = ((memory.peak() - before) * 1024 * 1024) / MB;
    sender.destroy();
    return { blockedMs, grownMegabytes, response };
  } finally {
    await gateway.process.stop();
  }
}

const upstreamWorker = new Worker(new URL("./bodies-upstream.ts", import.meta.url));
const upstream = await messageOf<string>(upstreamWorker);
console.log(
  "case | body | loop blocked, best of rounds (ms) | per 10 MB | memory | times body | response",
);
for (const name of options.only.split("|")) {
  const body = awkwardBodies[name]?.();
  if (!body) throw new Error(`there is no case ${name}: ${Object.keys(awkwardBodies).join(" | ")}`);
  const all: Measured[] = [];
  for (let round = 0; round < rounds; round++) {
    all.push(await measure(`${name}-${round}`, body, upstream));
  }
  // The minimum of the rounds: other load on the machine only adds.
  const blockedMs = Math.min(...all.map((one) => one.blockedMs));
  const grown = Math.min(...all.map((one) => one.grownMegabytes));
  const megabytes = body.length / MB;
  const fits = blockedMs <= 50 && grown <= 10 * Math.max(8, megabytes);
  console.log(
    [
      name,
      `${megabytes.toFixed(1)} MB`,
      blockedMs.toFixed(1),
      (blockedMs / (megabytes / 10)).toFixed(1),
      `${grown.toFixed(0)} MB`,
      (grown / megabytes).toFixed(1),
      all[0]?.response,
      ...(fits ? [] : ["MISSED"]),
    ].join(" | "),
  );
  if (options.check && !fits) process.exitCode = 1;
}
await stopAll();
process.exit();
