/**
 * Reads `vexel.yaml` in a worker thread, because a large file takes hundreds of milliseconds. The thread ends after one
 * file: changes are rare.
 */
import { Worker } from "node:worker_threads";
import { isExecutable } from "../../lib/executable.ts";
import type { PackedYaml, ReadInThread } from "./packed-yaml.ts";
import type { ReadConfig } from "./read-yaml.ts";

type ReadByThread = PackedYaml | Extract<ReadConfig, { readonly ok: false }>;

const script = isExecutable
  ? new URL("./server/config/yaml/read-yaml-worker.js", import.meta.url)
  : new URL("./read-yaml-worker.ts", import.meta.url);

export async function readYamlInThread(options: ReadInThread): Promise<ReadByThread> {
  const { promise, resolve, reject } = Promise.withResolvers<ReadByThread>();
  const worker = new Worker(script, { workerData: options });
  worker.unref();
  worker.on("message", resolve);
  worker.on("error", reject);
  worker.on("exit", () => reject(new Error("the thread that reads the file has ended")));
  try {
    return await promise;
  } finally {
    void worker.terminate();
  }
}
