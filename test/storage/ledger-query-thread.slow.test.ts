/** The thread of the ledger queries: bounded, with a timeout, and replaced after a crash. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  LedgerQueryThread,
  type LedgerQueryThreadOptions,
} from "../../server/storage/sqlite/ledger-query-thread.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { temporaryFolder } from "../harness.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import { until } from "../until.ts";

/** A thread whose script is `onMessage`, the body of a function of `request`, `respond` and `count`. */
async function withScript(
  onMessage: string,
  options: Partial<LedgerQueryThreadOptions>,
  use: (thread: LedgerQueryThread) => Promise<void>,
): Promise<void> {
  using folder = temporaryFolder();
  const path = join(folder.path, "script.ts");
  writeFileSync(
    path,
    `import { parentPort } from "node:worker_threads";
     const respond = (value) => parentPort.postMessage({ value });
     let count = 0;
     parentPort.on("message", (request) => { count++; ${onMessage} });`,
  );
  const thread = new LedgerQueryThread({ path: "", script: pathToFileURL(path), ...options });
  try {
    await use(thread);
  } finally {
    await thread.close();
  }
}

const list = (thread: LedgerQueryThread, limit = 1): Promise<unknown> => thread.list({ limit });

/**
 * Sends queries until one returns the number of queries that its thread has run. On a busy machine a thread may start
 * more slowly than the short timeout of the test allows; that query is rejected, and the next one is sent.
 */
const untilCount = (thread: LedgerQueryThread, count: number): Promise<void> =>
  until(async () => (await list(thread).catch(() => undefined)) === count);

test("a query beyond the maximum of waiting queries is rejected, and the others return in order", async () => {
  await withScript(
    "setTimeout(() => respond(request.list.limit), 20);",
    { maxQueued: 3 },
    async (thread) => {
      const results: unknown[] = [];
      const queries = [1, 2, 3, 4].map((limit) =>
        list(thread, limit).then((value) => results.push(value)),
      );
      await expect(list(thread)).rejects.toThrow("Too many ledger queries: 3 are waiting");
      await Promise.all(queries);
      expect(results).toEqual([1, 2, 3, 4]);
    },
  );
});

test("a query that takes too long is rejected, and the next one runs in another thread", async () => {
  const script = "if (request.list.limit === 13) for (;;); else respond(count);";
  await withScript(script, { timeoutMs: 1000 }, async (thread) => {
    await untilCount(thread, 2);
    const endless = list(thread, 13);
    await expect(endless).rejects.toThrow("took longer than 1000 ms");
    await untilCount(thread, 1);
  });
});

test("a query that waits too long behind another one is rejected as well", async () => {
  const script =
    "if (request.list.limit === 13) setTimeout(() => respond(count), 1500); else respond(count);";
  await withScript(script, { timeoutMs: 1000 }, async (thread) => {
    const results = await Promise.allSettled([list(thread, 13), list(thread)]);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await untilCount(thread, 1);
  });
});

test.each(["throw new Error('a bug');", "process.exit(3);"])(
  "after a crash of the thread by %p its query is rejected, and the next one succeeds",
  async (crash) => {
    const script = `if (request.list.limit === 13) { ${crash} } else respond(count);`;
    await withScript(script, {}, async (thread) => {
      const [broken, next] = [list(thread, 13), list(thread)];
      await expect(broken).rejects.toThrow("ended unexpectedly");
      expect(await next).toBe(1);
    });
  },
);

test("an idle thread ends, and the next query starts another one", async () => {
  await withScript("respond(count);", { idleMs: 1 }, async (thread) => {
    expect(await list(thread)).toBe(1);
    let result: unknown = 2;
    for (let tries = 0; tries < 100 && result !== 1; tries++) {
      await Bun.sleep(20);
      result = await list(thread);
    }
    expect(result).toBe(1);
  });
});

test("an error of the database is reported, and the next query succeeds", async () => {
  using folder = temporaryFolder();
  const thread = new LedgerQueryThread({ path: join(folder.path, "ledger.db") });
  await expect(list(thread)).rejects.toThrow("The ledger cannot be read");
  const store = new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
  await store.append([ledgerRow(1000)]);
  expect((await thread.list({ limit: 5 })).entries).toHaveLength(1);
  await thread.close();
  await store.close();
});

test("queries do not run on the thread that serves requests", async () => {
  using folder = temporaryFolder();
  const store = new SqliteLedgerStore({ folder: folder.path, maxBytes: 0 });
  const rows = Array.from({ length: 20_000 }, (_, at) =>
    ledgerRow(at * 60_000, { keyId: `key_${at % 50}` }),
  );
  await store.append(rows);
  const thread = new LedgerQueryThread({ path: store.path, timeoutMs: 60_000 });
  let turns = 0;
  let isDone = false;
  const countTurns = (): void => {
    turns++;
    if (!isDone) setImmediate(countTurns);
  };
  setImmediate(countTurns);
  const queries = Array.from({ length: 10 }, () =>
    thread.usage({ from: 0, to: 1e15, interval: "hour", groupBy: ["keyId"], limit: 1000 }),
  );
  await Promise.all(queries);
  isDone = true;
  // A query on this thread would take a turn of the event loop of its own: ten queries, about ten turns.
  expect(turns).toBeGreaterThan(100);
  await thread.close();
  await store.close();
});
