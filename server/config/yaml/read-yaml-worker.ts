/** Worker thread that reads `vexel.yaml` once. See `read-yaml-thread.ts`. */
import { parentPort, workerData } from "node:worker_threads";
import { type FileInThread, type ProblemOptions, packYaml } from "./pack-yaml.ts";

const { text, env } = workerData as FileInThread;

parentPort?.once("message", async (options: ProblemOptions) => {
  // Loaded on demand: the schemas take longer to load than most files to parse.
  const { readConfig } = await import("./read-yaml.ts");
  const read = readConfig({ ...options, text, env });
  parentPort?.postMessage(read.ok ? [] : read.problems);
});
parentPort?.postMessage(packYaml(text, env));
