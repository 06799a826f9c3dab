/**
 * Parses `vexel.yaml` in a worker thread, because a large file takes hundreds of milliseconds, and collects its
 * problems there. The thread ends after one file: changes are rare.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { isExecutable } from "../../lib/executable.ts";
import { ignoreRejection } from "../../lib/tasks.ts";
import type { FileInThread, PackedYaml, ProblemOptions } from "./pack-yaml.ts";
import type { Problem } from "./problem.ts";

const script = isExecutable
  ? new URL("./server/config/yaml/read-yaml-worker.js", import.meta.url)
  : new URL("./read-yaml-worker.ts", import.meta.url);

export class YamlThread {
  readonly #worker: Worker;
  /** Rejects when the thread fails or ends. */
  readonly #end: Promise<never>;

  constructor(file: FileInThread) {
    this.#worker = new Worker(script, { workerData: file });
    this.#worker.unref();
    const { promise, reject } = Promise.withResolvers<never>();
    this.#worker.once("error", reject);
    this.#worker.once("exit", (code) =>
      reject(new Error(`the thread that reads the file ended with code ${code}`)),
    );
    ignoreRejection(promise);
    this.#end = promise;
  }

  /** Called once. Undefined if the file is invalid. */
  async parsed(): Promise<PackedYaml | undefined> {
    return (await this.#response()) as PackedYaml | undefined;
  }

  /** Called once, after `parsed`: all problems of the file. */
  async problems(options: ProblemOptions): Promise<readonly Problem[]> {
    this.#worker.postMessage(options);
    return (await this.#response()) as readonly Problem[];
  }

  /** Rejects with an exception of the thread, and if the thread ends without a response. */
  async #response(): Promise<unknown> {
    const [message] = await Promise.race([once(this.#worker, "message"), this.#end]);
    return message as unknown;
  }

  [Symbol.dispose](): void {
    void this.#worker.terminate();
  }
}
