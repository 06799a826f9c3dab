/**
 * Parses `vexel.yaml` in a worker thread, because a large file takes hundreds of milliseconds. The thread ends after one
 * file: changes are rare.
 */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { isExecutable } from "../../lib/executable.ts";
import { ignoreRejection } from "../../lib/tasks.ts";
import type { FileToParse, ParsedFile } from "./parse-file.ts";
import type { LinePosition } from "./parse-yaml.ts";
import type { Place } from "./problem.ts";

const script = isExecutable
  ? new URL("./server/config/yaml/read-yaml-worker.js", import.meta.url)
  : new URL("./read-yaml-worker.ts", import.meta.url);

export class YamlThread {
  readonly #worker: Worker;
  /** Rejects when the thread fails or ends. */
  readonly #end: Promise<never>;

  constructor(file: FileToParse) {
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

  /** Called once. */
  async parsed(): Promise<ParsedFile> {
    return (await this.#response()) as ParsedFile;
  }

  /** Called once, after `parsed`. */
  async locate(places: readonly Place[]): Promise<readonly LinePosition[]> {
    this.#worker.postMessage(places);
    return (await this.#response()) as readonly LinePosition[];
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
