/** Real gateways for tests: one inside the test's own process, or one as a process of its own. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build, type Gateway } from "../server/app.ts";
import { loadSnapshot } from "../server/config/load-snapshot.ts";
import { describeProblems } from "../server/config/problem.ts";
import { TempStorage } from "../server/lib/temp-storage.ts";
import { createLog, type Level } from "../server/observe/log.ts";
import { readSettings } from "../server/settings.ts";
import { LedgerFile } from "../server/storage/ledger-file.ts";
import { journaledRows } from "../server/storage/ledger-journal.ts";
import type { LedgerRow } from "../server/storage/ledger-row.ts";
import { buildEmbeddedModels } from "../server/wiring/embedded-models.ts";

export const testKey = "sk-test-0123456789abcdef";
export const root = join(import.meta.dir, "..");

/** A folder that is gone when the test is. */
export function temporaryFolder(): { path: string; [Symbol.dispose](): void } {
  const path = mkdtempSync(join(tmpdir(), "vexel-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** A disk that is never full. */
export const roomyDisk = { hasRoom: () => true, recordWrite: () => undefined };

/** Request temp storage without bounds. */
export const roomyStorage = (): TempStorage =>
  new TempStorage({ maxBytes: Number.MAX_SAFE_INTEGER, disk: roomyDisk });

/** The usual configuration of a test: everything OpenAI has, behind one fake upstream. */
export const configFor = (fakeUrl: string): string => `
upstreams:
  - { id: fake, kind: openai, baseUrl: "${fakeUrl}", apiKey: sk-fake }
models:
  - { id: text-embedding-3-small, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }
  - { id: text-embedding-ada-002, kind: embedding, targets: [{ upstream: fake, model: text-embedding-ada-002 }] }
  - { id: our-embedder, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-large }] }
  - { id: gpt-image-2, kind: image, targets: [{ upstream: fake, model: gpt-image-2 }] }
  - { id: our-painter, kind: image, targets: [{ upstream: fake, model: gpt-image-1.5 }] }
  - { id: any-painter, kind: image, parameters: pass, targets: [{ upstream: fake, model: gpt-image-2 }] }
  - { id: dall-e-3, kind: image, targets: [{ upstream: fake, model: dall-e-3 }] }
keys:
  - { name: test, key: ${testKey} }
`;

export interface TestGateway {
  /** Without /v1. */
  readonly url: string;
  readonly baseURL: string;
  readonly folder: string;
  /** Where the gateway itself tells of changes. */
  readonly events: Gateway["events"];
  /** Every log line so far, as text. */
  log(): string;
  rows(): LedgerRow[];
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
  /** As if none of them had ever failed. */
  forgetTargets(): void;
  /** Calls that are worked on, those that wait for another among them. */
  inHand(): number;
  close(): Promise<void>;
}

export interface GatewayOptions {
  readonly yaml: string;
  readonly settings?: Readonly<Record<string, string>>;
  readonly logLevel?: Level;
  /** Nobody wants to wait an hour for the last one. */
  readonly webhookDelaysMs?: readonly number[];
}

/** In this process: fast to start, and what it throws is seen. */
export function startGateway({
  yaml,
  settings = {},
  logLevel = "debug",
  ...hurry
}: GatewayOptions): TestGateway {
  const folder = temporaryFolder();
  const path = join(folder.path, "vexel.yaml");
  writeFileSync(path, yaml);
  const loaded = loadSnapshot({ path, required: true, env: {} });
  if (!loaded.ok) throw new Error(describeProblems(loaded.problems));
  let lines = "";
  const log = createLog({
    level: logLevel,
    format: "json",
    now: () => new Date(),
    write: (text) => {
      lines += text;
    },
  });
  const { models: engines } = buildEmbeddedModels({ idleMs: 60_000, onReady: () => undefined });
  const gateway: Gateway = build({
    settings: readSettings({ PORT: "0", VEXEL_DATA: folder.path, ...plainly, ...settings }),
    snapshot: () => loaded.snapshot,
    embeddedModels: engines,
    log,
    ...hurry,
  });
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
    forgetTargets: () => gateway.targetRegistry.clear(),
    inHand: () => gateway.inFlight(),
    close: async () => {
      await gateway.close();
      log.flush();
      folder[Symbol.dispose]();
    },
  };
}

/** Every call goes to the upstream, and nothing else does: most tests script what happens to it there. */
const plainly = { VEXEL_CACHE_BYTES: "0", VEXEL_CANARY_HOURS: "0" };

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

/** The ledger as it is on disk, with what is under way into it, oldest first. */
export function readLedger(folder: string): LedgerRow[] {
  // First, as rows go from here into the file.
  const journaled = journaledRows(folder);
  const file = new LedgerFile({ folder, maxBytes: 0 });
  try {
    const rows = new Map(
      [...journaled, ...file.recent(1_000_000)].map((row) => [row.requestId, row]),
    );
    return [...rows.values()].toSorted((a, b) => (a.requestId < b.requestId ? -1 : 1));
  } finally {
    file.close();
  }
}

export interface GatewayProcess {
  readonly url: string;
  readonly pid: number;
  readonly folder: string;
  /** What it wrote to standard output and error so far. */
  output(): string;
  kill(signal: NodeJS.Signals): void;
  readonly exited: Promise<number>;
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>;
}

export interface ProcessOptions {
  /** Kept by the caller: it holds the data and, where given, vexel.yaml. */
  readonly folder: string;
  readonly yaml?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** A script that runs in the process before the gateway does, to provoke faults. */
  readonly preload?: string;
  /** The limit of open files of the process. */
  readonly openFiles?: number;
}

/** As a process of its own, started as a user would, through the command line. Resolves when it is ready. */
export async function startProcess(options: ProcessOptions): Promise<GatewayProcess> {
  const { folder, yaml, env = {}, args = ["serve"], preload, openFiles } = options;
  if (yaml !== undefined) writeFileSync(join(folder, "vexel.yaml"), yaml);
  const child = Bun.spawn(
    [
      ...(openFiles === undefined ? [] : ["bash", "-c", `ulimit -n ${openFiles}; exec "$0" "$@"`]),
      process.execPath,
      "--no-install",
      ...(preload === undefined ? [] : ["--preload", preload]),
      join(root, "cli", "main.ts"),
      ...args,
    ],
    {
      cwd: folder,
      env: {
        PATH: process.env.PATH ?? "",
        PORT: "0",
        VEXEL_DATA: join(folder, "data"),
        ...plainly,
        ...env,
      },
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  let text = "";
  const gather = async (stream: ReadableStream<Uint8Array>): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) text += decoder.decode(chunk, { stream: true });
  };
  const gathering = Promise.all([gather(child.stdout), gather(child.stderr)]);
  const until = Date.now() + 15_000;
  let url: string | undefined;
  while (url === undefined) {
    url = /Base URL {2}(\S+)\/v1/.exec(text)?.[1];
    if (url !== undefined) break;
    if (child.exitCode !== null || Date.now() > until) {
      child.kill("SIGKILL");
      await gathering;
      throw new Error(`The gateway did not start (exit code ${child.exitCode}):\n${text}`);
    }
    await Bun.sleep(10);
  }
  return {
    url,
    pid: child.pid,
    folder,
    output: () => text,
    kill: (signal) => child.kill(signal),
    exited: child.exited.then(async (code) => {
      await gathering;
      return code;
    }),
    post: (path, body, headers = {}) => post(`${url}${path}`, body, headers),
  };
}
