/** Events about API keys: each creation and each revocation once, also if it happened while the gateway was down. */
import { afterAll, expect, test } from "bun:test";
import { createEvents } from "../../server/events/events.ts";
import { createKeyEvents } from "../../server/events/key-events.ts";
import { openKeyStore } from "../../server/storage/sqlite/gateway-database.ts";
import { temporaryFolder } from "../harness.ts";
import { newKey } from "../storage/laws/new-key.ts";

const cleanups: (() => unknown)[] = [];
afterAll(async () => {
  for (const clean of cleanups.reverse()) await clean();
});

function openStore() {
  const folder = temporaryFolder();
  cleanups.push(() => folder[Symbol.dispose]());
  const keys = openKeyStore(folder.path, Date.now);
  cleanups.push(() => keys.close());
  return keys;
}

/** A gateway process: the marks survive it, and what it has emitted is returned by `read`. */
function startProcess(marks: Map<string, number>, isReadable = () => true) {
  const emitted: string[] = [];
  const problems: string[] = [];
  const onKeysChanged = createKeyEvents({
    store: {
      mark: async (name) => {
        if (!isReadable()) throw new Error("the store is locked");
        return marks.get(name);
      },
      setMark: async (name, value) => void marks.set(name, value),
    },
    emit: ({ type, data }) => void emitted.push(`${type} ${(data as { id: string }).id}`),
    flush: () => Promise.resolve(true),
    report: (problem) => void problems.push(problem),
  });
  return { onKeysChanged, read: () => emitted.splice(0), problems };
}

test("a store that cannot be read is reported, and its changes are emitted later", async () => {
  const keys = openStore();
  const { onKeysChanged, read, problems } = startProcess(new Map([["key-revision", 0]]));
  await keys.create(newKey("a"));
  await onKeysChanged({ changesSince: () => Promise.reject(new Error("the disk is gone")) });
  expect(problems).toEqual(["the disk is gone"]);
  await onKeysChanged(keys);
  expect(read()).toEqual(["key.created a"]);
});

test("changes made while no gateway ran are emitted late if the store of the events cannot be read at the start", async () => {
  const keys = openStore();
  const marks = new Map<string, number>();
  await startProcess(marks).onKeysChanged(keys);
  await keys.create(newKey("a"));
  let isReadable = false;
  const { onKeysChanged, read, problems } = startProcess(marks, () => isReadable);
  await onKeysChanged(keys);
  expect(problems).toEqual(["the store is locked"]);
  expect(read()).toEqual([]);
  isReadable = true;
  await onKeysChanged(keys);
  expect(read()).toEqual(["key.created a"]);
});

test("at the first start no key counts as new, also if the keys could not be read at once", async () => {
  const keys = openStore();
  await keys.create(newKey("old"));
  const { onKeysChanged, read } = startProcess(new Map());
  await onKeysChanged({ changesSince: () => Promise.reject(new Error("the disk is gone")) });
  await onKeysChanged(keys);
  expect(read()).toEqual([]);
  await keys.create(newKey("a", { createdAt: 2000 }));
  await onKeysChanged(keys);
  expect(read()).toEqual(["key.created a"]);
});

test("the events of thousands of new keys are recorded in few transactions, each once", async () => {
  const keys = openStore();
  const created = Array.from({ length: 3000 }, (_, at) => newKey(`key-${at}`));
  await keys.createAll(created);
  const recorded: string[] = [];
  let transactions = 0;
  const { emit, flush, close } = createEvents({
    store: {
      recordAll: async (events) => {
        transactions++;
        recorded.push(...events.map(({ event }) => String(event.data.id)));
        return { ids: events.map(({ event }) => event.id), overflowed: [] };
      },
    },
    deliver: {
      wake: () => undefined,
      attempt: () => Promise.reject(new Error("there is no webhook")),
      isGone: () => false,
    },
    webhooks: () => new Map(),
    clientWebhooks: { subscribers: async () => [] },
    now: Date.now,
    newId: () => crypto.randomUUID(),
    report: () => undefined,
    onRecorded: () => undefined,
  });
  cleanups.push(close);
  const onKeysChanged = createKeyEvents({
    store: { mark: async () => 0, setMark: async () => undefined },
    emit,
    flush,
    report: (problem) => {
      throw new Error(problem);
    },
  });
  await onKeysChanged(keys);
  expect(recorded).toEqual(created.map(({ id }) => id));
  // Each page of a thousand keys begins with a transaction of one event.
  expect(transactions).toBeLessThanOrEqual(3000 / 100);
});
