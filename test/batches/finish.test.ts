/** The end of a batch can be tried again: each file of its results exists once. */
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createBatchKind } from "../../server/batches/batch-kind.ts";
import { createClientFiles } from "../../server/files/client-files.ts";
import { createReceivingFiles } from "../../server/files/receiving-files.ts";
import type { JobResults } from "../../server/jobs/job-kind.ts";
import { resultsOf } from "../../server/jobs/segments.ts";
import { ByteTurns, turnBytes } from "../../server/lib/byte-turns.ts";
import { GatewayError } from "../../server/lib/gateway-error.ts";
import { StoredFiles } from "../../server/storage/files/stored-files.ts";
import { createFileIndex } from "../../server/storage/sql/file-index.ts";
import type { StoredJob } from "../../server/storage/sql/stored-job.ts";
import { openJobDatabase } from "../../server/storage/sqlite/job-database.ts";
import { temporaryFolder } from "../harness.ts";
import { unlimitedDisk } from "../unlimited-disk.ts";

const owner = "project:one";
const job = {
  id: `batch_${"0".repeat(32)}`,
  owner,
  ending: null,
  error: null,
  data: { outputSeconds: null },
  lineErrors: [],
} as unknown as StoredJob;

const results = (error: () => AsyncIterable<Uint8Array>): JobResults => {
  const line = '{"response":{"body":{"data":[],"usage":{"prompt_tokens":3,"total_tokens":4}}}}\n';
  const output = Buffer.from(line.repeat(2));
  return {
    size: async (kind) => (kind === "output" ? output.length : 6),
    read: (kind) =>
      kind === "output"
        ? (async function* () {
            yield output.subarray(0, 30);
            yield output.subarray(30);
          })()
        : error(),
  };
};

const vendorLines = {
  open: () => {
    throw new Error("The lines run now.");
  },
  chargeRest: async () => {
    throw new Error("The lines run now.");
  },
  cleanUp: async () => {
    throw new Error("The lines run now.");
  },
};

test("a batch whose end failed once has each file once, and its usage", async () => {
  using folder = temporaryFolder();
  const now = Date.now;
  const db = openJobDatabase(folder.path, now);
  const store = new StoredFiles({ folder: join(folder.path, "files"), disk: unlimitedDisk, now });
  const quotas = { owner: 1, all: 1 };
  const log = { warn: () => undefined };
  const index = createFileIndex(db);
  const receiving = createReceivingFiles({ index, store, quotas, turns: new ByteTurns(() => 0) });
  const files = createClientFiles({ index, store, receiving, log, now });
  const kind = createBatchKind({
    files,
    limits: { maxLines: 1, maxLineBytes: 1, maxTextBytes: 1 },
    checkerOf: () => async () => ({ model: "m", inputs: 1, tokens: 1, imageDollars: 0 }),
    chooseExecution: () => ({
      execution: "now",
      estimate: { now: null, vendor: null },
    }),
    vendorLines,
    expiryOf: () => null,
    mayMerge: () => false,
    byteTurns: new ByteTurns(() => 0),
  });
  const broken = results(async function* () {
    yield Buffer.from("hal");
    throw new Error("the disk is gone");
  });
  await expect(kind.finish(job, broken)).rejects.toThrow("the disk is gone");
  const whole = results(async function* () {
    yield Buffer.from("whole\n");
  });
  const finished = await kind.finish(job, whole);
  expect(finished).toMatchObject({
    status: "completed",
    data: { usage: { inputTokens: 6, outputTokens: 0, totalTokens: 8 } },
  });
  expect(await kind.finish(job, whole)).toEqual(finished);
  const listed = await files.list({ owner, order: "asc", limit: 10 });
  expect(listed.map(({ id, bytes }) => [id, bytes])).toEqual([
    [String(finished.data?.errorFileId), 6],
    [String(finished.data?.outputFileId), 158],
  ]);
  await db.close();
});

test("other requests are served while the results of a batch become files", async () => {
  const size = 16 * 1024 * 1024;
  let turns = 0;
  let isOver = false;
  const onTurn = (): void => {
    turns++;
    if (!isOver) setImmediate(onTurn);
  };
  const kind = createBatchKind({
    files: {
      findContent: async () => undefined,
      beginResult: async () => ({
        createdAt: 0,
        write: async (chunks) => {
          let written = 0;
          for await (const chunk of chunks) written += chunk.length;
          return written;
        },
        complete: async () => ({}) as never,
        discard: async () => undefined,
      }),
    },
    limits: { maxLines: 1, maxLineBytes: 1, maxTextBytes: 1 },
    checkerOf: () => async () => ({ model: "m", inputs: 1, tokens: 1, imageDollars: 0 }),
    chooseExecution: () => ({ execution: "now", estimate: { now: null, vendor: null } }),
    vendorLines,
    expiryOf: () => null,
    mayMerge: () => false,
    byteTurns: new ByteTurns(() => 0),
  });
  onTurn();
  await kind.finish(job, {
    size: async (name) => (name === "output" ? size : 0),
    read: async function* () {
      for (let at = 0; at < size; at += 524_288) yield Buffer.alloc(524_288, "x");
    },
  });
  isOver = true;
  expect(turns).toBeGreaterThanOrEqual(size / turnBytes);
});

test("a batch whose results cannot be listed is not completed without them", async () => {
  using folder = temporaryFolder();
  const now = Date.now;
  const store = new StoredFiles({ folder: folder.path, disk: unlimitedDisk, now });
  mkdirSync(join(folder.path, "jobs"));
  writeFileSync(join(folder.path, "jobs", job.id), "not a folder");
  await expect(resultsOf(store, job.id).size("output")).rejects.toThrow("could not be");
  await expect(store.list("jobs/batch_without_results")).resolves.toEqual([]);
});

test("results of a process that had lost its claim are not in the output a second time", async () => {
  using folder = temporaryFolder();
  const store = new StoredFiles({ folder: folder.path, disk: unlimitedDisk, now: Date.now });
  const write = (name: string, text: string) =>
    store.write(`jobs/${job.id}/${name}`, [Buffer.from(text)]);
  await write("0000000000-0000000000-0.output", "line 0\n");
  await write("0000000000-0000000001-9.output", "line 1, lost\n");
  await write("0000000000-0000000001-9.error", "line 2, lost\n");
  await write("0000000000-0000000001-10.output", "line 1\nline 2\n");
  await write("0000000001-0000000003-0.output", "line 3\n");
  const found = resultsOf(store, job.id);
  let output = "";
  for await (const chunk of found.read("output")) output += Buffer.from(chunk).toString();
  expect(output).toBe("line 0\nline 1\nline 2\nline 3\n");
  expect([await found.size("output"), await found.size("error")]).toEqual([28, 0]);
});

test("a batch whose storage is not available at the moment does not take its input for deleted", async () => {
  const unavailable = new GatewayError("storage_unavailable", "The object store is down.");
  const kind = createBatchKind({
    files: {
      beginResult: async () => undefined,
      findContent: async () => {
        throw unavailable;
      },
    },
    limits: { maxLines: 1, maxLineBytes: 1, maxTextBytes: 1 },
    checkerOf: () => async () => ({ model: "m", inputs: 1, tokens: 1, imageDollars: 0 }),
    chooseExecution: () => ({
      execution: "now",
      estimate: { now: null, vendor: null },
    }),
    vendorLines,
    expiryOf: () => null,
    mayMerge: () => false,
    byteTurns: new ByteTurns(() => 0),
  });
  const stored = { ...job, data: { ...job.data, operation: "embeddings", inputFileId: "file-1" } };
  await expect(kind.prepare?.(stored)).rejects.toBe(unavailable);
});
