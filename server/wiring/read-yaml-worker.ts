/** Worker thread that reads `vexel.yaml` once. See `server/config/yaml/read-yaml-thread.ts`. */
import { parentPort, workerData } from "node:worker_threads";
import { packYaml, type ReadInThread } from "../config/yaml/packed-yaml.ts";
import { readConfig } from "../config/yaml/read-yaml.ts";
import { inspectModelDirectory } from "../workers/embedding/model-directory.ts";

const read = readConfig({
  ...(workerData as ReadInThread),
  inspectFolder: inspectModelDirectory,
});
parentPort?.postMessage(read.ok ? packYaml(read) : read);
