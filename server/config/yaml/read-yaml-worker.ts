/** Worker thread that reads `vexel.yaml` once. See `read-yaml-thread.ts`. */
import { parentPort, workerData } from "node:worker_threads";
import { packYaml, type ReadInThread } from "./packed-yaml.ts";
import { readConfig } from "./read-yaml.ts";

const read = readConfig(workerData as ReadInThread);
parentPort?.postMessage(read.ok ? packYaml(read) : read);
