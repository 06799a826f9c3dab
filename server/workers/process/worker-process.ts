/**
 * The gateway's side of a worker's child process: started on first use and stopped when idle. After a crash the next
 * request starts it again.
 */

import { dirname } from "node:path";
import { errorTable } from "../../../contract/errors.ts";
import { missingLib, sourceEnvironment } from "../../lib/executable.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { abortError, throwIfAborted } from "../../lib/tasks.ts";
import type { ToChild, ToParent, WorkerMetadata } from "./protocol.ts";

export interface WorkerProcessOptions<Spec> {
  /** For messages: "The embedding model all-minilm-l6-v2". */
  readonly name: string;
  /** The child's main file. */
  readonly entry: string;
  /** Returns the load message. `failedStarts`: the number of consecutive children that died before they were ready. */
  readonly spec: (failedStarts: number) => Spec;
  /** The maximum in flight, in the unit of `WorkerRequest.weight`. */
  readonly maxWeight: number;
  /** How long the child stays without requests. */
  readonly idleMs?: number;
  /**
   * Backoff after a child has reported that it cannot load the model: for this long, requests get the same error
   * without a new start. A child that dies before it is ready is started again by the next request.
   */
  readonly startBackoffMs?: number;
  /**
   * Compared when a request is aborted: if the child has sent nothing for longer than this while requests were pending,
   * the child is hung, and is killed.
   */
  readonly hangTimeoutMs?: number;
  /** Every aborted request kills the child. */
  readonly killOnAbort?: boolean;
  /** Environment variables of this child, in addition to the variables of every child. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly spawn?: Spawn;
  readonly now?: () => number;
  /** Called each time the model has been loaded. */
  readonly onReady?: (metadata: WorkerMetadata) => void;
}

interface WorkerRequest<TaskRequest, Part> {
  readonly request: TaskRequest;
  readonly weight: number;
  readonly signal: AbortSignal;
  readonly onPart: (part: Part) => void;
}

export interface WorkerProcessState {
  readonly pid?: number;
  /** Of the loaded model; absent before. */
  readonly metadata?: WorkerMetadata;
  /** Requests in flight. */
  readonly requests: number;
  /** Their total weight. */
  readonly weight: number;
}

interface PendingRequest<Part> {
  readonly onPart: (part: Part) => void;
  readonly settle: (error?: GatewayError) => void;
}

interface RunningChild<Part> {
  readonly child: Child;
  readonly requests: Map<number, PendingRequest<Part>>;
  metadata?: WorkerMetadata;
  lastMessageAt: number;
}

export class WorkerProcess<Spec, TaskRequest, Part> {
  readonly #options: Required<WorkerProcessOptions<Spec>>;
  #running: RunningChild<Part> | undefined;
  #failure: { readonly error: GatewayError; readonly until: number } | undefined;
  #idle: ReturnType<typeof setTimeout> | undefined;
  #failedStarts = 0;
  #lastId = 0;
  #weight = 0;
  #closed = false;

  constructor(options: WorkerProcessOptions<Spec>) {
    const noop = () => undefined;
    this.#options = {
      idleMs: 10 * 60_000,
      startBackoffMs: 5_000,
      hangTimeoutMs: 120_000,
      killOnAbort: false,
      environment: {},
      spawn,
      now: Date.now,
      onReady: noop,
      ...options,
    };
  }

  state(): WorkerProcessState {
    const { child, metadata, requests } = this.#running ?? {};
    return {
      ...(child && { pid: child.pid }),
      ...(metadata && { metadata }),
      requests: requests?.size ?? 0,
      weight: this.#weight,
    };
  }

  /** Settles when the last part has arrived, or the request is rejected, aborted or lost. */
  async send({ request, weight, signal, onPart }: WorkerRequest<TaskRequest, Part>): Promise<void> {
    const { name, maxWeight, hangTimeoutMs, killOnAbort, now } = this.#options;
    if (this.#closed) throw new GatewayError("shutting_down", `${name} is closed.`);
    throwIfAborted(signal);
    if (this.#weight + weight > maxWeight) {
      const message = `${name} has reached its limit of pending requests. Please try again later.`;
      throw fullQueueError(message);
    }
    if (this.#failure && now() < this.#failure.until) throw this.#failure.error;

    const running = this.#start();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const id = ++this.#lastId;
    const onAbort = () => {
      const error = abortError(signal);
      running.child.send({ type: "cancel", id } satisfies ToChild<Spec, TaskRequest>);
      running.requests.get(id)?.settle(error);
      if (killOnAbort || now() - running.lastMessageAt > hangTimeoutMs)
        this.#end(running, this.#processEnded("stuck"));
    };
    const settle = (error?: GatewayError) => {
      if (!running.requests.delete(id)) return;
      this.#weight -= weight;
      signal.removeEventListener("abort", onAbort);
      this.#scheduleIdleStop();
      if (error) reject(error);
      else resolve();
    };
    if (running.requests.size === 0) running.lastMessageAt = now();
    running.requests.set(id, { onPart, settle });
    this.#weight += weight;
    signal.addEventListener("abort", onAbort, { once: true });
    running.child.send({ type: "request", id, request } satisfies ToChild<Spec, TaskRequest>);
    return promise;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    const running = this.#running;
    if (!running) return;
    this.#end(running, new GatewayError("shutting_down", `${this.#options.name} is closing.`));
    await running.child.exited;
  }

  #start(): RunningChild<Part> {
    clearTimeout(this.#idle);
    if (this.#running) return this.#running;
    const { entry, environment } = this.#options;
    const onMessage = (message: unknown) => {
      // Both ends are the same version of this code, so the message is not validated.
      if (this.#running === running) this.#onMessage(running, message as ToParent<Part>);
    };
    const child = this.#options.spawn(entry, onMessage, environment);
    const running: RunningChild<Part> = {
      child,
      requests: new Map(),
      lastMessageAt: this.#options.now(),
    };
    this.#running = running;
    child.send({ type: "load", spec: this.#options.spec(this.#failedStarts) } satisfies ToChild<
      Spec,
      TaskRequest
    >);
    void child.exited.then((reason) => {
      if (this.#running !== running) return;
      if (!running.metadata) this.#failedStarts += 1;
      this.#end(running, this.#processEnded(reason));
    });
    return running;
  }

  #onMessage(running: RunningChild<Part>, message: ToParent<Part>): void {
    running.lastMessageAt = this.#options.now();
    if (message.type === "ready") {
      running.metadata = message.metadata;
      this.#options.onReady(message.metadata);
      this.#failedStarts = 0;
    } else if (message.type === "failed") {
      const error = workerErrorToGatewayError(message, this.#options.name);
      this.#failure = { error, until: this.#options.now() + this.#options.startBackoffMs };
      this.#end(running, error);
    } else if (message.type === "refused") {
      running.requests
        .get(message.id)
        ?.settle(workerErrorToGatewayError(message, this.#options.name));
    } else {
      const request = running.requests.get(message.id);
      request?.onPart(message.part);
      if (message.last) request?.settle();
    }
  }

  /** Kills the child and fails all its pending requests. The next request starts another child. */
  #end(running: RunningChild<Part>, error: GatewayError): void {
    if (this.#running === running) this.#running = undefined;
    running.child.kill();
    for (const request of [...running.requests.values()]) request.settle(error);
  }

  #scheduleIdleStop(): void {
    const running = this.#running;
    if (!running || running.requests.size > 0) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      if (running.requests.size === 0) this.#end(running, this.#processEnded("idle"));
    }, this.#options.idleMs);
    this.#idle.unref();
  }

  #processEnded(reason: string): GatewayError {
    const message = `${this.#options.name} has stopped (${reason}). The next request starts it again.`;
    return new GatewayError("upstream_unreachable", message, { notSent: true });
  }
}

/**
 * Another target may serve the request. It is no error of an upstream: the target goes on, and smaller requests still
 * fit into its queue, so it must not cool down or be ejected.
 */
export const fullQueueError = (message: string): GatewayError =>
  new GatewayError("overloaded", message, {
    retryAfterMs: 1_000,
    notSent: true,
    overrides: { retry: "elsewhere" },
  });

function workerErrorToGatewayError(
  { error: kind, message, param }: Extract<ToParent<never>, { error: unknown }>,
  name: string,
): GatewayError {
  // `notSent`: a local failure is never billed, so another target may be tried.
  const details = { notSent: true, ...(param !== undefined && { param }) } as const;
  // Of the task queue in the child.
  if (kind === "overloaded") return fullQueueError(message);
  if (errorTable[kind].causedBy === "client") return new GatewayError(kind, message, details);
  // Paths and details are for the operator, not for clients.
  const clientMessage = `${name} cannot be used. Ask the operator of this gateway, whose log says why.`;
  return new GatewayError(kind, clientMessage, { ...details, logDetail: message });
}

export interface Child {
  readonly pid: number;
  send(message: unknown): void;
  /** SIGKILL: the process has no state to save. */
  kill(): void;
  /** Settles with a readable exit reason. */
  readonly exited: Promise<string>;
}

/** `environment`: variables in addition to the variables of every child. */
export type Spawn = (
  entry: string,
  onMessage: (message: unknown) => void,
  environment?: Readonly<Record<string, string>>,
) => Child;

// The gateway's environment contains upstream API keys, which a model does not need.
const passedVariables = ["PATH", "HOME", "TMPDIR", "LANG", "LD_LIBRARY_PATH", "SYSTEMROOT", "TEMP"];

/** A retry would not help: the executable was installed without its folder `lib`. */
export const missingLibError = (path: string, cause?: unknown): GatewayError =>
  new GatewayError(
    "upstream_unreachable",
    "Files of the gateway are missing: the folder lib beside its executable is not complete. Ask the operator of this gateway to extract the whole release archive.",
    {
      cause,
      notSent: true,
      logDetail: `the folder ${path} is missing`,
      overrides: { clientShouldNotRetry: true },
    },
  );

/** Starts child processes of workers. No other code does. */
export const spawn: Spawn = (entry, onMessage, environment) => {
  const passed = Object.fromEntries(passedVariables.flatMap((name) => entryOf(name)));
  const env = { ...passed, ...sourceEnvironment, ...environment };
  // --no-install: Bun must never fetch a missing package by itself. The working directory keeps Bun from reading a
  // `.env`.
  const run = () =>
    Bun.spawn([process.execPath, "--no-install", entry], {
      cwd: dirname(entry),
      env,
      stdin: "ignore",
      stdout: "ignore",
      stderr: "inherit",
      serialization: "advanced",
      ipc: onMessage,
    });
  let child: ReturnType<typeof run>;
  try {
    child = run();
  } catch (cause) {
    if (missingLib !== undefined) throw missingLibError(missingLib, cause);
    const message = "The process of a local model cannot be started.";
    throw new GatewayError("upstream_unreachable", message, { cause, notSent: true });
  }
  return {
    pid: child.pid,
    send: (message) => {
      try {
        child.send(message);
      } catch {
        // The process has just died: `exited` fails the pending requests.
      }
    },
    kill: () => child.kill("SIGKILL"),
    exited: child.exited.then(() => `${child.signalCode ?? `exit code ${child.exitCode}`}`),
  };
};

function entryOf(name: string): [string, string][] {
  const value = process.env[name];
  return value === undefined ? [] : [[name, value]];
}
