/** Test gateways: in the test's own process, or as a separate process. */
import { Database } from "bun:sqlite";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import environment from "../bin/environment.json" with { type: "json" };
import { build } from "../server/app.ts";
import { authenticate } from "../server/auth/authenticate.ts";
import { loadSnapshot, readSources } from "../server/config/build/load-snapshot.ts";
import type { ConfigEntities } from "../server/config/entities/config-entities.ts";
import { openConfigEntities } from "../server/config/entities/open-config-entities.ts";
import { describeProblems } from "../server/config/yaml/problem.ts";
import type { Gateway } from "../server/gateway.ts";
import { createLog, type Level } from "../server/lib/log.ts";
import type { Tracing } from "../server/observe/otlp/open-tracing.ts";
import type { Caller } from "../server/request/caller.ts";
import { readSettings } from "../server/settings.ts";
import { SecretBox } from "../server/storage/encrypt-secret.ts";
import { readOutbox } from "../server/storage/files/outbox-recovery.ts";
import type { LedgerRow } from "../server/storage/ports/ledger-row.ts";
import type { RedisConnection } from "../server/storage/redis/client.ts";
import type { ConfigEntityStore } from "../server/storage/sql/config-entity-store.ts";
import { openConfigEntityStore, openKeyStore } from "../server/storage/sqlite/gateway-database.ts";
import { TempStorage } from "../server/temp-storage/temp-storage.ts";
import { buildBuiltInModels } from "../server/workers/built-in-models.ts";
import { rowsIn } from "./ledger/stored-rows.ts";
import { unlimitedDisk } from "./unlimited-disk.ts";

export const testKey = "sk-test-0123456789abcdef";
export const root = join(import.meta.dir, "..");

/** Runs the command line of the sources in a folder. */
export const sourceCommand = (program: string): readonly string[] => [
  process.execPath,
  "--no-install",
  join(program, "cli", "main.ts"),
];
const executable = process.env.TEST_EXECUTABLE;
/** The command line: the executable that `npm test` has built, which starts much faster, or the sources. */
export const command = executable === undefined ? sourceCommand(root) : [executable];
/** With these the executable need not start itself again. */
export const commandEnvironment: Readonly<Record<string, string>> =
  executable === undefined ? {} : environment;

/** A folder that is deleted when the test ends. */
export function temporaryFolder(): { path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), "vexel-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Request temp storage without bounds. */
export const unlimitedStorage = (): TempStorage =>
  new TempStorage({ maxBytes: Number.MAX_SAFE_INTEGER, disk: unlimitedDisk });

/**
 * The usual configuration of a test: everything OpenAI has, behind one fake upstream. `imageOptions`: such as `
 * onDisconnect: cancel,`.
 */
export const configFor = (fakeUrl: string, imageOptions = ""): string => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${fakeUrl}", apiKey: sk-fake }
models:
  - { id: text-embedding-3-small, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }
  - { id: text-embedding-ada-002, kind: embedding, targets: [{ upstream: fake, model: text-embedding-ada-002 }] }
  - { id: embedding-model, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-large }] }
  - { id: gpt-image-2, kind: image,${imageOptions} targets: [{ upstream: fake, model: gpt-image-2 }] }
  - { id: image-model, kind: image,${imageOptions} targets: [{ upstream: fake, model: gpt-image-1.5 }] }
  - { id: any-image-model, kind: image,${imageOptions} parameters: pass, targets: [{ upstream: fake, model: gpt-image-2 }] }
  - { id: dall-e-3, kind: image,${imageOptions} targets: [{ upstream: fake, model: dall-e-3 }] }
keys:
  - { name: test, key: ${testKey} }
`;

export interface TestGateway {
  /** Without /v1. */
  readonly url: string;
  readonly baseURL: string;
  readonly folder: string;
  /** The gateway's own events. */
  readonly events: Gateway["events"];
  /** Every log line so far, as text. */
  log(): string;
  rows(): LedgerRow[];
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Executes requests without HTTP, with `send` as their stages. */
  readonly execute: Gateway["execute"];
  readonly send: Gateway["send"];
  /** The caller with the test key. */
  caller(): Caller;
  /** Replaces the configuration. */
  reload(yaml: string): void;
  /** Clears the health and latency of all targets. */
  resetTargets(): void;
  /** Requests in flight, including requests that wait for another request. */
  inFlight(): number;
  close(): Promise<void>;
}

export interface GatewayOptions {
  readonly yaml: string;
  readonly settings?: Readonly<Record<string, string>>;
  readonly logLevel?: Level;
  /** The Redis server that gateways share. */
  readonly redis?: RedisConnection;
  /** Short delays: the last retry would otherwise follow after an hour. */
  readonly webhookDelaysMs?: readonly number[];
  /** Minimum average rate of a request body, in bytes per second. */
  readonly minBodyRate?: number;
  /** The most bytes of an upstream response. */
  readonly maxResponseBytes?: number;
  /** The timeout of the download of an image. */
  readonly downloadTimeoutMs?: number;
  /** If absent, tracing is off. */
  readonly tracing?: Tracing | undefined;
}

/** In this process: it starts fast, and its exceptions fail the test. */
export function startGateway({
  yaml,
  settings = {},
  logLevel = "debug",
  ...overrides
}: GatewayOptions): TestGateway {
  const folder = temporaryFolder();
  const path = join(folder.path, "vexel.yaml");
  writeFileSync(path, yaml);
  copyNewDatabases(folder.path);
  const load = () => {
    const loaded = loadSnapshot({ path, namedBy: "VEXEL_CONFIG", env: {} });
    if (!loaded.ok) throw new Error(describeProblems(loaded.problems));
    return loaded.snapshot;
  };
  let snapshot = load();
  let lines = "";
  const log = createLog({
    level: logLevel,
    format: "json",
    now: () => new Date(),
    write: (text) => {
      lines += text;
    },
  });
  const builtInModels = buildBuiltInModels({
    onReady: () => undefined,
  });
  const keys = openKeyStore(folder.path, Date.now);
  const entityStore = openConfigEntityStore(folder.path, Date.now);
  const gateway: Gateway = build({
    settings: readSettings({ PORT: "0", VEXEL_DATA: folder.path, ...baseSettings, ...settings }),
    snapshot: () => snapshot,
    // Keys and entities of the store are not in the snapshot of a gateway in this process.
    configChanges: {
      keys,
      applyKeyChanges: async () => undefined,
      entities: configEntities(entityStore, folder.path),
      applyEntityChanges: async () => undefined,
    },
    builtInModels,
    log,
    // The lowest cost: `passwords.test.ts` holds the cost in production.
    passwordCost: { memoryCost: 8, timeCost: 1 },
    ...overrides,
  });
  keepNewDatabases(folder.path);
  return {
    url: gateway.url,
    events: gateway.events,
    baseURL: `${gateway.url}/v1`,
    folder: folder.path,
    log: () => {
      log.flush();
      return lines;
    },
    rows: () => readLedger(folder.path),
    post: (path, body, headers = {}) => post(`${gateway.url}${path}`, body, headers),
    execute: gateway.execute,
    send: gateway.send,
    caller: () =>
      authenticate(new Headers({ authorization: `Bearer ${testKey}` }), snapshot, Date.now()),
    reload: (changed) => {
      writeFileSync(path, changed);
      snapshot = load();
    },
    resetTargets: () => gateway.targetRegistry.clear(),
    inFlight: () => gateway.inFlight(),
    close: async () => {
      await gateway.close();
      await keys.close();
      await entityStore.close();
      log.flush();
      folder[Symbol.dispose]();
    },
  };
}

/**
 * The SQLite files of the first gateway of this process when it had only created its tables. The others begin with
 * copies of them, because the tables take half of the CPU time of a start.
 */
const newDatabases = new Map<string, Uint8Array>();

export function copyNewDatabases(folder: string): void {
  for (const [name, bytes] of newDatabases) writeFileSync(join(folder, name), bytes);
}

/** At once after the gateway was built. */
export function keepNewDatabases(folder: string): void {
  if (newDatabases.size > 0) return;
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".db"))) {
    const path = join(folder, name);
    const database = new Database(path);
    database.run("PRAGMA wal_checkpoint(TRUNCATE)");
    database.close();
    newDatabases.set(name, readFileSync(path));
  }
}

/** The entities of the store, beside those of vexel.yaml. */
const configEntities = (store: ConfigEntityStore, folder: string): ConfigEntities =>
  openConfigEntities({
    store,
    secrets: new SecretBox({ folder, secret: "test-secret-0123456789", previous: [] }),
    sources: () => {
      const read = readSources({ path: join(folder, "vexel.yaml"), env: {} });
      if (!read.ok) throw new Error(describeProblems(read.problems));
      return read;
    },
    now: Date.now,
  });

/** Without cache and canary, the upstream gets every request and no other: most tests script its responses in order. */
const baseSettings = { VEXEL_CACHE_BYTES: "0", VEXEL_CANARY_HOURS: "0" };

export const post = (
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${testKey}`, "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

/** The rows of every outbox in the folder that are not known to be in the ledger store. */
export const outboxRows = (folder: string): LedgerRow[] =>
  readdirSync(folder)
    .filter((name) => /^outbox-.*\.log$/.test(name))
    .flatMap((name) => [...readOutbox(readFileSync(join(folder, name))).rows]);

/** The rows of the ledger file and of its outbox, oldest first. */
export function readLedger(folder: string): LedgerRow[] {
  // The outbox is read first: rows move from it into the file.
  const pending = outboxRows(folder);
  const rows = new Map([...pending, ...rowsIn(folder)].map((row) => [row.requestId, row]));
  return [...rows.values()].toSorted((a, b) => (a.requestId < b.requestId ? -1 : 1));
}

export interface GatewayProcess {
  readonly url: string;
  readonly pid: number;
  readonly folder: string;
  /** Its standard output and standard error so far. */
  output(): string;
  kill(signal: NodeJS.Signals): void;
  readonly exited: Promise<number>;
  /** Ends it with SIGKILL, if it is still running. */
  close(): Promise<void>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
}

interface ProcessOptions {
  /** Deleted by the test. Contains the data folder and, where `yaml` is given, vexel.yaml. */
  readonly folder: string;
  readonly yaml?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** A script that runs in the process before the gateway starts, for fault injection. */
  readonly preload?: string;
  /** The limit of open files of the process. */
  readonly openFiles?: number;
  /** A command that runs the gateway's command, such as `nsenter`. */
  readonly wrapper?: readonly string[];
  /** The folder of the sources that run instead of the executable, such as another version of the gateway. */
  readonly program?: string;
}

/** As a separate process, started through the command line as a user would. Resolves when it is ready. */
export async function startProcess(options: ProcessOptions): Promise<GatewayProcess> {
  const { folder, yaml, env = {}, args = ["serve"], preload, openFiles } = options;
  const { wrapper = [], program } = options;
  if (yaml !== undefined) writeFileSync(join(folder, "vexel.yaml"), yaml);
  const child = Bun.spawn(
    [
      ...wrapper,
      ...(openFiles === undefined ? [] : ["bash", "-c", `ulimit -n ${openFiles}; exec "$0" "$@"`]),
      ...(program === undefined ? command : sourceCommand(program)),
      ...args,
    ],
    {
      cwd: folder,
      env: {
        PATH: process.env.PATH ?? "",
        ...commandEnvironment,
        PORT: "0",
        VEXEL_DATA: join(folder, "data"),
        ...baseSettings,
        ...(preload !== undefined && { BUN_OPTIONS: `"--preload=${preload}"` }),
        ...env,
      },
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  let text = "";
  const collect = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  };
  const collecting = Promise.all([collect(child.stdout), collect(child.stderr)]);
  const deadline = Date.now() + 60_000;
  let url: string | undefined;
  while (url === undefined) {
    url = (/Base URL {2}(\S+)\/v1/.exec(text) ?? /"listening","url":"([^"]+)"/.exec(text))?.[1];
    if (url !== undefined) break;
    if (child.exitCode !== null || Date.now() > deadline) {
      child.kill("SIGKILL");
      await collecting;
      throw new Error(`The gateway did not start (exit code ${child.exitCode}):\n${text}`);
    }
    await Bun.sleep(10);
  }
  const exited = child.exited.then(async (code) => {
    await collecting;
    return code;
  });
  return {
    url,
    pid: child.pid,
    folder,
    output: () => text,
    kill: (signal) => child.kill(signal),
    exited,
    close: async () => {
      child.kill("SIGKILL");
      await exited;
    },
    post: (path, body, headers = {}) => post(`${url}${path}`, body, headers),
  };
}
