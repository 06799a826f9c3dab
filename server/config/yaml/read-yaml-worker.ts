/** Worker thread that parses `vexel.yaml` once. See `read-yaml-thread.ts`. */
import { parentPort, workerData } from "node:worker_threads";
import { type FileToParse, parseFile } from "./parse-file.ts";
import type { Place } from "./problem.ts";

const { file, locate } = parseFile(workerData as FileToParse);

parentPort?.once("message", (places: readonly Place[]) => parentPort?.postMessage(locate(places)));
parentPort?.postMessage(file);
