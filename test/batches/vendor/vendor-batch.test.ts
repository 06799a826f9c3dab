/** One step of a vendor's batch, with a clock and a vendor that a test scripts. */
import { expect, test } from "bun:test";
import type { VendorApi } from "../../../server/batches/vendor/vendor-api.ts";
import {
  VendorBatch,
  type VendorBatchOptions,
  type VendorTarget,
} from "../../../server/batches/vendor/vendor-batch.ts";
import { VendorError } from "../../../server/batches/vendor/vendor-endpoint.ts";
import { createVendorLines } from "../../../server/batches/vendor/vendor-lines.ts";
import type { Creating, VendorState } from "../../../server/batches/vendor/vendor-state.ts";
import type { ChargedLines } from "../../../server/jobs/job-budget.ts";
import { RangeWaits } from "../../../server/jobs/job-kind.ts";
import { ByteTurns } from "../../../server/lib/byte-turns.ts";
import { GatewayError } from "../../../server/lib/gateway-error.ts";
import type { FileStore } from "../../../server/storage/ports/file-store.ts";
import type { ClaimedRange, StoredJob } from "../../../server/storage/sql/stored-job.ts";

const start = Date.UTC(2026, 10, 18);
const minute = 60_000;

const creating: Creating = {
  kind: "creating",
  name: "vexel-batch_1-0",
  fileId: "file-1",
  shared: {},
  at: start,
};

/** A batch whose creation has an unknown outcome. `find`: what the vendor's list says. */
function startBatch(endpoint: string, find: () => Promise<string | undefined>) {
  let now = start;
  const calls: string[] = [];
  const api: Partial<VendorApi> = {
    find,
    create: async () => {
      calls.push("create");
      return "batch_at_vendor";
    },
    poll: async () => ({ kind: "running" }),
    cancel: async (_, id) => void calls.push(`cancel ${id}`),
    deleteFile: async (_, id) => void calls.push(`delete ${id}`),
  };
  const job = {
    id: "batch_1",
    endpoint,
    ending: null,
    createdAt: start,
    deadline: start + 60 * minute,
  } as Partial<StoredJob> as StoredJob;
  const at = { api, target: {}, endpoint: {}, priceFactor: 0.5 } as unknown as VendorTarget;
  const budget = {
    reserve: async () => undefined,
    refresh: async () => undefined,
    onCharged: () => undefined,
  };
  const options: VendorBatchOptions = {
    files: {} as FileStore,
    plan: async () => ({ requests: [], labelBudgets: [], nanos: null }),
    budget,
    log: { warn: () => undefined },
    now: () => now,
  };
  const batch = new VendorBatch(options, { job, number: 0 }, at, async () => undefined);
  const payer = {} as ChargedLines;
  return {
    calls,
    job,
    at,
    options,
    pass: (ms: number) => {
      now += ms;
    },
    /** When the range is claimed again, in milliseconds. */
    advance: async (): Promise<number> => {
      const waits = await batch
        .advance(creating, payer, async function* () {})
        .catch((error: unknown) => error);
      expect(waits).toBeInstanceOf(RangeWaits);
      return (waits as RangeWaits).at - now;
    },
  };
}

test("a batch of images that may be on its way to the vendor is not created before its list is certain", async () => {
  const batch = startBatch("/v1/images/generations", async () => undefined);
  expect(await batch.advance()).toBe(2 * minute);
  expect(batch.calls).toEqual([]);
  batch.pass(2 * minute);
  await batch.advance();
  expect(batch.calls).toEqual(["create"]);
});

test("a batch of images is not created while the vendor does not list its batches", async () => {
  const batch = startBatch("/v1/images/generations", () =>
    Promise.reject(new VendorError("Forbidden.", 403)),
  );
  batch.pass(10 * minute);
  await batch.advance();
  expect(batch.calls).toEqual([]);
  const embeddings = startBatch("/v1/embeddings", () =>
    Promise.reject(new VendorError("Forbidden.", 403)),
  );
  expect(await embeddings.advance()).toBe(2 * minute);
  embeddings.pass(2 * minute);
  await embeddings.advance();
  expect(embeddings.calls).toEqual(["create"]);
});

/** The lines of a range whose batch may have been created. `more`: members of its job. */
const linesOf = (
  { job, at, options }: ReturnType<typeof startBatch>,
  more: Partial<StoredJob>,
  payerOf: () => ChargedLines = () => ({}) as ChargedLines,
) =>
  createVendorLines({
    ...options,
    targetOf: () => at,
    payerOf,
    runsNow: () => false,
    byteTurns: new ByteTurns(() => 0),
    notRun: () => new GatewayError("job_expired", "The batch has expired."),
  }).linesOf(
    { job: { ...job, ...more }, number: 0, vendorBatch: JSON.stringify(creating) } as ClaimedRange,
    async function* () {
      yield { number: 0, id: "a", customId: "a", operation: "embeddings", publicUrl: "" } as const;
    },
    async () => undefined,
  );

test.each([
  ["has expired", { ending: "expired" } as const, undefined],
  [
    "is of a revoked key",
    {},
    () => {
      throw new GatewayError("invalid_api_key", "The API key of the job was revoked.");
    },
  ],
])("a job that %s ends, although the vendor never responds again", async (_, more, payerOf) => {
  const batch = startBatch("/v1/embeddings", () =>
    Promise.reject(new VendorError("The vendor does not respond.", undefined)),
  );
  const read = () => Array.fromAsync(linesOf(batch, more, payerOf));
  batch.pass(70 * minute);
  await expect(read()).rejects.toThrow(RangeWaits);
  batch.pass(10 * minute);
  expect(await read()).toMatchObject([{ number: 0 }]);
  expect(batch.calls).toEqual([]);
});

test("the vendor's batches of a job that failed are canceled, and their files are deleted", async () => {
  const { calls, job, at, options } = startBatch("/v1/embeddings", async () => "batch_found");
  const states: VendorState[] = [
    creating,
    { ...creating, kind: "created", id: "batch_known", fileId: "file-2", resultFiles: ["file-3"] },
    { kind: "refused", reason: "The vendor refused it." },
  ];
  const lines = createVendorLines({
    ...options,
    targetOf: () => at,
    payerOf: () => ({}) as ChargedLines,
    runsNow: () => false,
    byteTurns: new ByteTurns(() => 0),
    notRun: () => new Error() as never,
  });
  for (const state of states) {
    const range = { job, number: 0, lines: 1, settled: 0, vendorBatch: JSON.stringify(state) };
    expect(await lines.cleanUp(range as ClaimedRange)).toBe(true);
  }
  expect(calls).toEqual([
    "cancel batch_found",
    "delete file-1",
    "cancel batch_known",
    "delete file-2",
    "delete file-3",
  ]);
});

/** The steps of a process that reads the results of a vendor's batch. `readings`: how often one began before. */
async function readResults(readings: number, files: Partial<FileStore>) {
  const batch = startBatch("/v1/embeddings", async () => undefined);
  const recorded: VendorState[] = [];
  const created: VendorState = { ...creating, kind: "created", id: "batch_at_vendor", readings };
  Object.assign(batch.at.api, {
    poll: async () => ({ kind: "ended", outcome: "completed", files: ["file-2"] }),
    readResult: () => undefined,
  });
  const lines = createVendorLines({
    ...batch.options,
    files: files as FileStore,
    targetOf: () => batch.at,
    payerOf: () => ({}) as ChargedLines,
    runsNow: () => false,
    notRun: () => new GatewayError("job_expired", "The batch has expired."),
    byteTurns: new ByteTurns(() => 0),
  }).linesOf(
    { job: batch.job, number: 0, lines: 1, vendorBatch: JSON.stringify(created) } as ClaimedRange,
    async function* () {},
    async (state) => void recorded.push(JSON.parse(state)),
  );
  const error = await lines.next().catch((reason: unknown) => reason);
  const counts = recorded.map((state) => (state.kind === "created" ? state.readings : undefined));
  return { error, readings: counts };
}

const resultsFile = (text: string): Partial<FileStore> => ({
  find: async () => ({ size: text.length, read: () => new Blob([text]).stream() }),
});

test("each attempt to read the results of a vendor's batch is recorded before it begins", async () => {
  const { readings, error } = await readResults(2, resultsFile("{}\n\n{}\n"));
  expect(readings.slice(0, 2)).toEqual([3, 0]);
  expect(error).toMatchObject({ done: true });
});

test("results that no process could read in three attempts fail the batch, with the reason", async () => {
  const blank = await readResults(2, resultsFile("\n".repeat(100_001)));
  expect(blank.readings).toEqual([3]);
  expect(blank.error).toBeInstanceOf(RangeWaits);
  const { readings, error } = await readResults(3, resultsFile("{}\n"));
  expect(readings).toEqual([]);
  expect(error).toMatchObject({
    kind: "vendor_batch_failed",
    message: expect.stringContaining("3 attempts"),
  });
});

test("results that cannot be read because the storage is not available are read again without end", async () => {
  const { readings, error } = await readResults(2, {
    find: async () => {
      throw new GatewayError("storage_unavailable", "The store is down.");
    },
  });
  expect(readings).toEqual([3, 2]);
  expect(error).toBeInstanceOf(RangeWaits);
});
