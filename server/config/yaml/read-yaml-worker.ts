/** Worker thread that reads `vexel.yaml` once. See `read-yaml-thread.ts`. */
import { parentPort, workerData } from "node:worker_threads";
import { inspectModelDirectory } from "../../workers/embedding/model-directory.ts";
import { packYaml, type ReadInThread } from "./packed-yaml.ts";
import { readConfig } from "./read-yaml.ts";

const read = readConfig({
  ...(workerData as ReadInThread),
  inspectFolder: inspectModelDirectory,
});
parentPort?.postMessage(read.ok ? packYaml(read) : read);
