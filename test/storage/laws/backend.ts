/**
 * What the law suites of the storage ports need from an implementation. PostgreSQL, Redis or S3 join a suite by one
 * entry in the table of its test file.
 */
import { test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** One implementation of a port. */
export interface Implementation<Store> {
  readonly name: string;
  /** An empty storage that can be opened several times, by several processes, and again after it was closed. */
  createStorage(): Promise<Storage>;
  /** `now`: Unix milliseconds. */
  open(location: string, now: () => number): Promise<Store>;
}

interface Storage {
  /** A folder or a URL. */
  readonly location: string;
  /** Called when a law has ended, before its stores are closed. */
  endLaw?(): void;
  dispose(): Promise<void>;
}

/** An implementation that stores everything in a folder of its own. */
export const inFolder = <Store>(
  name: string,
  open: (folder: string, now: () => number) => Store | Promise<Store>,
): Implementation<Store> => ({
  name,
  createStorage: async () => {
    const location = mkdtempSync(join(tmpdir(), "vexel-law-"));
    return { location, dispose: async () => rmSync(location, { recursive: true, force: true }) };
  },
  open: async (folder, now) => open(folder, now),
});

interface Closable {
  close(): Promise<void>;
}

type OpenStore<Store> = (now?: () => number) => Promise<Store>;

/** The test of a law, which runs on an empty storage. */
export const lawsOf =
  <Store>(implementation: Implementation<Store>) =>
  (name: string, run: Parameters<typeof withStorage<Store>>[1]): void =>
    test(name, () => withStorage(implementation, run));

/** Runs a law on an empty storage. Every store that it opens is closed afterwards. */
export async function withStorage<Store>(
  implementation: Implementation<Store>,
  law: (open: OpenStore<Store>, location: string) => Promise<void>,
): Promise<void> {
  const storage = await implementation.createStorage();
  const opened: Store[] = [];
  try {
    await law(async (now = () => 1000) => {
      const store = await implementation.open(storage.location, now);
      opened.push(store);
      return store;
    }, storage.location);
  } finally {
    storage.endLaw?.();
    // Stores of files need not be closed.
    for (const store of opened) await (store as Partial<Closable>).close?.();
    await storage.dispose();
  }
}

/**
 * Starts a process that writes entries `w0`, `w1`, ... with a writer of write-until-killed.ts, and kills it with
 * SIGKILL after some of them. Returns the ids whose write had been acknowledged.
 */
export async function writeUntilKilled(
  writer: string,
  implementation: string,
  location: string,
  after = 20,
): Promise<string[]> {
  const script = join(import.meta.dir, "write-until-killed.ts");
  const child = Bun.spawn([process.execPath, script, writer, implementation, location], {
    stdout: "pipe",
    stderr: "inherit",
  });
  let output = "";
  for await (const chunk of child.stdout) {
    output += new TextDecoder().decode(chunk);
    if (output.split("\n").length > after) child.kill("SIGKILL");
  }
  await child.exited;
  // The last line may be incomplete.
  return output.split("\n").slice(0, -1);
}

/** All pages of a list. */
export async function allPages<T>(
  list: (page: { cursor?: string; limit: number }) => Promise<{
    entries: readonly T[];
    next?: string;
  }>,
  limit: number,
): Promise<T[]> {
  const all: T[] = [];
  for (let page = await list({ limit }); ; ) {
    all.push(...page.entries);
    if (page.next === undefined) return all;
    page = await list({ cursor: page.next, limit });
  }
}

/**
 * Texts that storage engines have mangled: empty, quotes, astral, right-to-left, combining. NUL and lone surrogates are
 * left out.
 */
export const awkwardTexts: readonly string[] = [
  "",
  " ",
  "'; DROP TABLE keys; --",
  '"\\/%_?$1',
  "Grüße, 世界, 🚀",
  "\u202Eright to left",
  "e\u0301 is not \u00e9",
  "line\nbreak\ttab",
];
