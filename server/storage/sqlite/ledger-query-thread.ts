/**
 * Ledger queries in a worker thread with a read-only connection, so that a long query delays no request. The thread is
 * started by the first query, started again after a crash, and ended when it is idle.
 */

import { Worker } from "node:worker_threads";
import { isExecutable } from "../../lib/executable.ts";
import type {
  LedgerListQuery,
  LedgerPage,
  LedgerQueries,
  UsageQuery,
  UsageReport,
} from "../ports/ledger-queries.ts";
import type { LedgerQueryRequest, LedgerQueryResponse } from "./ledger-query-worker.ts";
import { StoreError } from "./open-database.ts";

export interface LedgerQueryThreadOptions {
  /** The path of `ledger.db`. */
  readonly path: string;
  /** The maximum number of queries that wait for the running query. Further queries are rejected. */
  readonly maxQueued?: number;
  /** The longest wait for a result, with the time in the queue. */
  readonly timeoutMs?: number;
  /** The thread ends after this time without a query. */
  readonly idleMs?: number;
  /** For tests: another script for the thread. */
  readonly script?: URL;
}

interface PendingQuery {
  readonly request: LedgerQueryRequest;
  resolve(value: unknown): void;
  reject(error: StoreError): void;
  readonly timer: ReturnType<typeof setTimeout>;
}

const script = isExecutable
  ? new URL("./server/storage/sqlite/ledger-query-worker.js", import.meta.url)
  : new URL("./ledger-query-worker.ts", import.meta.url);

export class LedgerQueryThread implements LedgerQueries {
  readonly #options: Required<LedgerQueryThreadOptions>;
  readonly #queue: PendingQuery[] = [];
  #running: PendingQuery | undefined;
  #worker: Worker | undefined;
  /** A thread that is ending. It may still run a query, so the next thread is started after its end. */
  #ending: Promise<void> | undefined;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(options: LedgerQueryThreadOptions) {
    this.#options = {
      maxQueued: 32,
      timeoutMs: 10_000,
      idleMs: 60_000,
      script,
      ...options,
    };
  }

  list(list: LedgerListQuery): Promise<LedgerPage> {
    return this.#run({ list }) as Promise<LedgerPage>;
  }

  usage(usage: UsageQuery): Promise<UsageReport> {
    return this.#run({ usage }) as Promise<UsageReport>;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idleTimer);
    for (const query of this.#queue.splice(0)) fail(query, closedMessage);
    if (this.#running) fail(this.#running, closedMessage);
    this.#running = undefined;
    this.#end();
    await this.#ending;
  }

  #run(request: LedgerQueryRequest): Promise<unknown> {
    const { maxQueued, timeoutMs } = this.#options;
    if (this.#closed) return Promise.reject(new StoreError(closedMessage));
    if (this.#queue.length >= maxQueued) {
      return Promise.reject(
        new StoreError(`Too many ledger queries: ${maxQueued} are waiting. Retry later.`),
      );
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#onTimeout(query), timeoutMs);
      const query: PendingQuery = { request, resolve, reject, timer };
      this.#queue.push(query);
      this.#next();
    });
  }

  #next(): void {
    if (this.#running || this.#ending || this.#closed) return;
    clearTimeout(this.#idleTimer);
    this.#running = this.#queue.shift();
    if (this.#running) {
      this.#worker ??= this.#start();
      this.#worker.postMessage(this.#running.request);
    } else if (this.#worker) {
      this.#idleTimer = setTimeout(() => this.#end(), this.#options.idleMs);
      this.#idleTimer.unref();
    }
  }

  #start(): Worker {
    const worker = new Worker(this.#options.script, { workerData: this.#options.path });
    worker.unref();
    worker.on("message", (response: LedgerQueryResponse) => {
      const query = this.#running;
      this.#running = undefined;
      if (query) settle(query, response);
      this.#next();
    });
    // An exception in the thread ends it.
    worker.on("error", () => this.#onExit(worker));
    worker.on("exit", () => this.#onExit(worker));
    return worker;
  }

  /** The next query starts another thread. */
  #onExit(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    const query = this.#running;
    this.#running = undefined;
    if (query) fail(query, "The thread of the ledger queries ended unexpectedly. Retry.");
    this.#next();
  }

  /** A query that is running cannot be interrupted: its thread ends after it, and no other thread is started before. */
  #onTimeout(query: PendingQuery): void {
    fail(query, `The ledger query took longer than ${this.#options.timeoutMs} ms.`);
    const at = this.#queue.indexOf(query);
    if (at >= 0) this.#queue.splice(at, 1);
    if (this.#running !== query) return;
    this.#running = undefined;
    this.#end();
  }

  #end(): void {
    const worker = this.#worker;
    this.#worker = undefined;
    if (!worker) return;
    this.#ending = worker.terminate().then(() => {
      this.#ending = undefined;
      this.#next();
    });
  }
}

const closedMessage = "The ledger is closed.";

function settle(query: PendingQuery, response: LedgerQueryResponse): void {
  if ("error" in response) {
    fail(query, `The ledger cannot be read: ${response.error}`);
    return;
  }
  clearTimeout(query.timer);
  query.resolve(response.value);
}

function fail(query: PendingQuery, message: string): void {
  clearTimeout(query.timer);
  query.reject(new StoreError(message));
}
