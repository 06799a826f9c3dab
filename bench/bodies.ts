/**
 * `npm run bench -- bodies [--only 'CASE|CASE'] [--rounds N] [--check]`: JSON bodies that are expensive to parse, one at
 * a time, each against a fresh gateway: how long the event loop is blocked (as another connection sees it), how much
 * the gateway's memory grows, and the response. Loopback only. `--check` makes a body that blocks the loop longer than
 * 50 ms per 10 MB, or takes more than 4 times its size, a failure.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { rssMegabytes, watchPeak } from "./proc.ts";
import { endWithParent, stopAll } from "./processes.ts";
import { key } from "./scenarios.ts";
import { startVexel } from "./vexel.ts";

const MB = 1_000_000;

/** `before` and `after` with copies of `filler` in between, about `megabytes` in total. */
const filled = (megabytes: number, before: string, filler: string, after: string) => (): Buffer => {
  const count = Math.floor((megabytes * MB) / Buffer.byteLength(filler));
  return Buffer.concat([
    Buffer.from(before),
    Buffer.alloc(count * Buffer.byteLength(filler), filler),
    Buffer.from(after),
  ]);
};

const request = '{"model":"text-embedding-3-small","input":';

function manyFields(count: number): Buffer {
  const fields = Array.from({ length: count }, (_, at) => `"f${at}":1`);
  return Buffer.from(`${request}"a",${fields.join(",")}}`);
}

const cases: Readonly<Record<string, () => Buffer>> = {
  "2 MB of tokens": filled(2, `${request}[`, "12345,", "1]}"),
  "31 MB of tokens": filled(31, `${request}[`, "12345,", "1]}"),
  "2 MB of one-digit tokens": filled(2, `${request}[`, "1,", "1]}"),
  '8 MB of "",': filled(8, `${request}[`, '"",', '"a"]}'),
  "2 MB of one-digit values in an extra field": filled(2, `${request}"a","x":[`, "1,", "1]}"),
  "131,000 objects in an extra field": filled(0.393, `${request}"a","x":[`, "{},", "1]}"),
  "7 texts of 4 MB with a lone surrogate": () =>
    Buffer.from(
      `${request}[${Array(7)
        .fill(`"\\ud800${"x".repeat(4_000_000)}"`)
        .join(",")}]}`,
    ),
  "2.4 million unknown fields": () => manyFields(2_400_000),
  "4,000 unknown fields": () => manyFields(4000),
  "31 MB of [": filled(31, `${request}`, "[", ""),
  '31 MB of {"a":': filled(31, `${request}`, '{"a":', ""),
  "one text of 31 MB": filled(31, `${request}"`, "lorem ipsum ", '"}'),
  "one text of 31 MB, UTF-16": filled(31, `${request}"猫`, "lorem ipsum ", '"}'),
  "one text of 31 MB, escaped": filled(31, `${request}"`, "\\n", '"}'),
  "one number of 31 MB": filled(31, request, "1", "}"),
  "31 MB of spaces": filled(31, request, " ", '"a"}'),
  "2,000 texts of 15 KB": () =>
    Buffer.from(`${request}${JSON.stringify(Array(2000).fill("lorem ipsum ".repeat(1280)))}}`),
};

const { values: options } = parseArgs({
  options: {
    only: { type: "string", default: Object.keys(cases).join("|") },
    rounds: { type: "string", default: "3" },
    check: { type: "boolean", default: false },
  },
});
const rounds = Number(options.rounds);
const folder = mkdtempSync(join(tmpdir(), "vexel-bodies-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
endWithParent((60 + Object.keys(cases).length * rounds * 60) * 1000);

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

/** The longest latency of `GET /healthz`, in ms, from now until `end`. */
function watchLoop(socket: Socket): { end(): Promise<number> } {
  let longest = 0;
  let over = false;
  const done = (async () => {
    while (!over) {
      const began = performance.now();
      const responded = new Promise<void>((resolve) => socket.once("data", () => resolve()));
      socket.write("GET /healthz HTTP/1.1\r\nhost: bench\r\n\r\n");
      await responded;
      longest = Math.max(longest, performance.now() - began);
      await Bun.sleep(1);
    }
  })();
  return {
    end: async () => {
      over = true;
      await done;
      return longest;
    },
  };
}

const writeBytes = 64 * 1024;

/** The status and error code of the response, which may come before the body is sent. */
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
  });
  try {
    const [probe, sender] = [await open(gateway.url), await open(gateway.url)];
    // The code is warm, as in a gateway that has served for some time.
    for (let i = 0; i < 20; i++) await send(await open(gateway.url), Buffer.from(`${request}"a"}`));
    const before = rssMegabytes(gateway.process.pid);
    const memory = watchPeak(gateway.process.pid, 10);
    const loop = watchLoop(probe);
    await Bun.sleep(100);
    const response = await send(sender, body);
    const blockedMs = await loop.end();
    const grownMegabytes = ((memory.peak() - before) * 1024 * 1024) / MB;
    sender.destroy();
    probe.destroy();
    return { blockedMs, grownMegabytes, response };
  } finally {
    await gateway.process.stop();
  }
}

/** An upstream that parses only the inputs of a request: one vector for each text, one for a token array. */
const upstream = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  maxRequestBodySize: 100 * MB,
  fetch: async (incoming) => {
    const { model, input } = (await incoming.json()) as { model: string; input: unknown };
    const count = Array.isArray(input) && typeof input[0] !== "number" ? input.length : 1;
    const embedding = Array<number>(1536).fill(0.025);
    const data = Array.from({ length: count }, (_, index) => ({
      object: "embedding",
      index,
      embedding,
    }));
    const usage = { prompt_tokens: count, total_tokens: count };
    return Response.json({ object: "list", model, data, usage });
  },
});
console.log(
  "case | body | loop blocked, best of rounds (ms) | per 10 MB | memory | times body | response",
);
for (const name of options.only.split("|")) {
  const body = cases[name]?.();
  if (!body) throw new Error(`there is no case ${name}: ${Object.keys(cases).join(" | ")}`);
  const all: Measured[] = [];
  for (let round = 0; round < rounds; round++) {
    all.push(await measure(`${name}-${round}`, body, upstream.url.origin));
  }
  // The minimum of the rounds: other load on the machine only adds.
  const blockedMs = Math.min(...all.map((one) => one.blockedMs));
  const grown = Math.min(...all.map((one) => one.grownMegabytes));
  const megabytes = body.length / MB;
  const fits =
    blockedMs <= 50 * Math.max(1, megabytes / 10) && grown <= 4 * Math.max(10, megabytes);
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
await upstream.stop(true);
process.exit();
