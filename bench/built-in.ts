/** Measures the built-in model and prints the figures: `taskset -c 1 npm run bench -- built-in [native|wasm]`. */
import { readFileSync } from "node:fs";
import type { EmbeddingsQuery } from "../server/upstream/contract.ts";
import { createMinilm } from "../server/workers/embedding/minilm.ts";

const runtime = process.argv[2] === "wasm" ? "wasm" : "native";
const minilm = createMinilm({ runtime });
const target = { upstream: { id: "minilm", kind: "minilm", headers: {}, options: {} }, model: "" };
const { signal } = new AbortController();

const embed = (texts: readonly string[]) => {
  const query: EmbeddingsQuery = {
    model: "",
    input: { kind: "text", texts },
    single: false,
    encoding: "float",
    extraFields: {},
  };
  return minilm.embeddings(query, target, signal);
};

const words = "the quick brown fox jumps over a lazy dog while we walk home in rain".split(" ");
const sentence = (i: number, length = 8) =>
  Array.from({ length }, (_, j) => words[(i * 7 + j * 3) % words.length]).join(" ");

const pid = () => minilm.state().pid ?? 0;
const memory = (of: number | "self") =>
  /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${of}/status`, "utf8"))?.[1] ?? "0";
const megabytes = (of: number | "self") => `${Math.round(Number(memory(of)) / 1024)} MB`;
/** User and system time of the child, in seconds. */
const cpu = () => {
  const fields = readFileSync(`/proc/${pid()}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
};

async function speed(name: string, texts: readonly string[]): Promise<void> {
  const [wall, used] = [performance.now(), cpu()];
  const { usage } = await embed(texts);
  const seconds = (performance.now() - wall) / 1000;
  const tokens = ((usage?.inputTokens ?? 0) / texts.length).toFixed(0);
  const [perSecond, perCpu] = [texts.length / seconds, texts.length / (cpu() - used)];
  console.log(
    `${name} (${tokens} tokens): ${perSecond.toFixed(1)}/s, ${perCpu.toFixed(1)} per CPU second`,
  );
}

const start = performance.now();
await embed(["hello"]);
console.log(
  `first request, with process start and model load: ${Math.round(performance.now() - start)} ms`,
  minilm.state().metadata,
);

const many = runtime === "wasm" ? 64 : 2048;
const short = Array.from({ length: many }, (_, i) => sentence(i));
await embed(short.slice(0, many / 8));
for (let round = 0; round < 3; round += 1) await speed("short sentences", short);
await speed(
  "long texts",
  Array.from({ length: many / 32 }, (_, i) => sentence(i, 170)),
);

const latencies: number[] = [];
for (let i = 0; i < 100; i += 1) {
  const from = performance.now();
  await embed([sentence(i)]);
  latencies.push(performance.now() - from);
}
latencies.sort((a, b) => a - b);
console.log(
  `one sentence: median ${latencies[50]?.toFixed(1)} ms, p90 ${latencies[90]?.toFixed(1)} ms`,
);
console.log(`memory: parent ${megabytes("self")}, child ${megabytes(pid())}`);
await minilm.close();
