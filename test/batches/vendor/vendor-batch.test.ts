/** The steps of a vendor's batch, with a clock and a vendor that a test scripts. */
import { expect, test } from "bun:test";
import type { VendorApi } from "../../../server/batches/vendor/vendor-api.ts";
import { VendorError } from "../../../server/batches/vendor/vendor-api.ts";
import type {
  SentBatch,
  VendorBatchOptions,
  VendorTarget,
} from "../../../server/batches/vendor/vendor-batch.ts";
import { createVendorLines } from "../../../server/batches/vendor/vendor-lines.ts";
import type { ChargedLines } from "../../../server/jobs/job-budget.ts";
import type { HeldRange } from "../../../server/jobs/job-kind.ts";
import { ByteTurns } from "../../../server/lib/byte-turns.ts";
import { GatewayError } from "../../../server/lib/gateway-error.ts";
import type { FileStore } from "../../../server/storage/ports/file-store.ts";
import type {
  ClaimedRange,
  RangeState,
  StoredJob,
} from "../../../server/storage/sql/stored-job.ts";

const start = Date.UTC(2026, 10, 18);
const minute = 60_000;

const sent: SentBatch = { name: "vexel-batch_1-0", fileId: "file-1", shared: {} };
const stored = (more: Partial<SentBatch> = {}, refusal?: string) =>
  JSON.stringify({ sent: { ...sent, ...more }, refusal });

const fileOf = (text: string) => ({ size: text.length, read: () => new Blob([text]).stream() });

/** What was sent: one line, whose estimate is known. */
const nanos = 5000;
const requestsFile = [
  { target: { model: "m" }, priceFactor: 0.5, model: {} },
  { number: 0, requests: [], nanos, labels: null },
]
  .map((each) => `${JSON.stringify(each)}\n`)
  .join("");

/** A range whose batch may have been created. `find`: what the vendor's list says. `files`: what is stored besides. */
function startBatch(
  endpoint: string,
  find: () => Promise<string | undefined>,
  files: Partial<FileStore> = {},
) {
  let now = start;
  /** The lines that are charged without a result, with the time of their ledger rows. */
  const charged: { readonly number: number; readonly at: number; readonly reason: string }[] = [];
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
    cancellingAt: null,
    createdAt: start,
    deadline: start + 60 * minute,
  } as Partial<StoredJob> as StoredJob;
  const at = { api, target: {}, endpoint: {}, priceFactor: 0.5 } as unknown as VendorTarget;
  const options: VendorBatchOptions = {
    files: {
      ...files,
      find: async (name: string) =>
        name.endsWith(".requests") ? fileOf(requestsFile) : files.find?.(name),
    } as FileStore,
    plan: async () => ({ requests: [], endUserAndTagBudgets: [], nanos: null }),
    budget: {
      reserve: async () => undefined,
      refresh: async () => undefined,
      onCharged: () => undefined,
    },
    log: { warn: () => undefined },
    now: () => now,
  };
  let range = {
    job,
    number: 0,
    lines: 1,
    settled: 0,
    phase: "creating",
    phaseSince: start,
    readings: 0,
    vendorBatch: stored(),
    reserved: null,
  } as Partial<ClaimedRange> as ClaimedRange;
  const recorded: Partial<RangeState>[] = [];
  const held: HeldRange = {
    get range() {
      return range;
    },
    record: async (change) => {
      recorded.push(change);
      range = { ...range, ...(change.phase && { phaseSince: now }), ...change };
      return true;
    },
  };
  let payerOf: () => ChargedLines = () => ({}) as ChargedLines;
  const lines = createVendorLines({
    ...options,
    targetOf: () => at,
    payerOf: () => payerOf(),
    runsNow: () => false,
    chargeWithoutResult: async ({ sent: { number }, at, error }) =>
      void charged.push({ number, at, reason: error.message }),
    byteTurns: new ByteTurns(() => 0),
    notRun: () => new GatewayError("job_expired", "The batch has expired."),
  });
  async function* plain() {
    yield { number: 0, id: "a", customId: "a", operation: "embeddings", publicUrl: "" } as const;
  }
  const open = () => lines.open(held, plain);
  return {
    api,
    calls,
    charged,
    lines,
    recorded,
    held,
    open,
    /** Changes the row. */
    set: (change: Partial<ClaimedRange>, ofJob: Partial<StoredJob> = {}) => {
      range = { ...range, ...change, job: { ...range.job, ...ofJob } };
    },
    setPayer: (of: () => ChargedLines) => {
      payerOf = of;
    },
    pass: (ms: number) => {
      now += ms;
    },
    /** When the range is claimed again, in milliseconds. */
    advance: async (): Promise<number> => {
      const opened = await open();
      if (!("kind" in opened) || opened.kind !== "waits")
        throw new Error("The range does not wait.");
      return opened.wait.until - now;
    },
    /** The lines, if they can run. */
    read: async () => {
      const opened = await open();
      return "lines" in opened ? Array.fromAsync(opened.lines) : opened;
    },
  };
}

const unresponsive = () =>
  Promise.reject(new VendorError("The vendor does not respond.", undefined));

test("a batch of images that may be on its way to the vendor is not created before its list is certain", async () => {
  const batch = startBatch("/v1/images/generations", async () => undefined);
  expect(await batch.advance()).toBe(2 * minute);
  expect(batch.calls).toEqual([]);
  batch.pass(2 * minute);
  await batch.advance();
  expect(batch.calls).toEqual(["create"]);
});

test("a batch of images is not created while the vendor does not list its batches", async () => {
  const refused = () => Promise.reject(new VendorError("Forbidden.", 403));
  const batch = startBatch("/v1/images/generations", refused);
  batch.pass(10 * minute);
  await batch.advance();
  expect(batch.calls).toEqual([]);
  const embeddings = startBatch("/v1/embeddings", refused);
  expect(await embeddings.advance()).toBe(2 * minute);
  embeddings.pass(2 * minute);
  await embeddings.advance();
  expect(embeddings.calls).toEqual(["create"]);
});

test("a range that waits for a vendor says why", async () => {
  const batch = startBatch("/v1/embeddings", unresponsive);
  expect(await batch.open()).toMatchObject({
    kind: "waits",
    wait: { error: { message: "The vendor does not respond." } },
  });
});

test("a range says why its batch was not created while it is not certain, and while the vendor's queue is full", async () => {
  const batch = startBatch("/v1/images/generations", async () => undefined);
  const lastError = { code: "upstream_error", message: "The vendor does not respond." };
  batch.set({ lastError });
  expect(await batch.open()).toMatchObject({ kind: "waits", wait: { error: lastError } });
  const reason = "Enqueued token limit reached.";
  batch.api.poll = async () => ({
    kind: "ended",
    outcome: "failed",
    reason,
    files: [],
    isQueueFull: true,
  });
  batch.set({ phase: "created", vendorBatch: stored({ id: "batch_known" }) });
  expect(await batch.open()).toMatchObject({
    kind: "waits",
    wait: { error: { message: reason } },
  });
});

test.each([
  ["has expired", { ending: "expired" } as const, undefined],
  [
    "is of a revoked key",
    {},
    () => {
      throw new GatewayError("invalid_api_key", "The API key of the job was revoked.");
    },
  ],
])("a job that %s ends, although the vendor never responds again", async (_, ofJob, payerOf) => {
  const batch = startBatch("/v1/embeddings", unresponsive);
  batch.set({}, ofJob);
  if (payerOf) batch.setPayer(payerOf);
  batch.pass(70 * minute);
  expect(await batch.advance()).toBeGreaterThan(0);
  batch.pass(10 * minute);
  expect(await batch.read()).toMatchObject([{ number: 0, charged: { dollars: nanos / 1e9 } }]);
  expect(batch.calls).toEqual([]);
  expect(batch.charged).toMatchObject([
    { number: 0, at: start + 80 * minute, reason: expect.stringContaining("whether") },
  ]);
});

test("a batch of a revoked key that may have been created is looked up and canceled, and never created", async () => {
  const revoked = (): never => {
    throw new GatewayError("invalid_api_key", "The API key of the job was revoked.");
  };
  const missing = startBatch("/v1/embeddings", async () => undefined);
  missing.setPayer(revoked);
  missing.pass(2 * minute);
  expect(await missing.read()).toEqual([expect.not.objectContaining({ charged: {} })]);
  expect(missing.calls).toEqual([]);
  expect(missing.charged).toEqual([]);
  const found = startBatch("/v1/embeddings", async () => "batch_found");
  found.setPayer(revoked);
  await found.advance();
  expect(found.calls).toEqual(["cancel batch_found"]);
  expect(found.held.range.phase).toBe("canceling");
});

test("a canceled batch that the vendor does not end is given up, and its lines end and are charged their estimates", async () => {
  const batch = startBatch("/v1/embeddings", async () => undefined);
  batch.set(
    { phase: "created", vendorBatch: stored({ id: "batch_known" }) },
    { ending: "cancelled" },
  );
  await batch.advance();
  expect(batch.held.range.phase).toBe("canceling");
  expect(batch.calls).toEqual(["cancel batch_known"]);
  batch.pass(14 * minute);
  await batch.advance();
  batch.pass(2 * minute);
  expect(await batch.read()).toMatchObject([{ number: 0, charged: { dollars: nanos / 1e9 } }]);
  expect(batch.charged).toMatchObject([{ at: start + 16 * minute }]);
  // Another process goes on: the ledger row is the same one.
  batch.pass(minute);
  await batch.read();
  expect(batch.charged[1]).toEqual(batch.charged[0] as never);
});

test("a batch that the vendor does not know any more is given up, and its lines are charged their estimates", async () => {
  const batch = startBatch("/v1/images/generations", async () => undefined);
  const unknown = () => Promise.reject(new VendorError("No such batch.", 404));
  Object.assign(batch.api, { poll: unknown });
  batch.set({ phase: "created", vendorBatch: stored({ id: "batch_known" }) });
  expect(await batch.read()).toMatchObject([
    { number: 0, charged: {}, failure: { message: expect.stringContaining("No such batch") } },
  ]);
  expect(batch.charged).toHaveLength(1);
});

test("lines at the vendor of a job that failed elsewhere are charged their estimates, once for each", async () => {
  const batch = startBatch("/v1/embeddings", async () => undefined);
  const end = { kind: "ended", outcome: "completed", files: [] } as const;
  batch.set({ phase: "uploaded", firstLine: 0 }, { finalizingAt: start + minute });
  expect(await batch.lines.chargeRest(batch.held.range)).toBeUndefined();
  expect(batch.charged).toEqual([]);
  batch.set({ phase: "created" });
  const cost = (await batch.lines.chargeRest(batch.held.range)) ?? 0;
  expect(cost).toBeGreaterThan(0);
  batch.set({ phase: "delivering", vendorBatch: stored({ end }) });
  await batch.lines.chargeRest(batch.held.range);
  batch.set({ settled: 1 });
  await batch.lines.chargeRest(batch.held.range);
  expect(batch.charged).toMatchObject([{ at: start + minute }, { at: start }]);
});

test("the vendor's batches of a job that failed are canceled, and their files are deleted", async () => {
  const batch = startBatch("/v1/embeddings", async () => "batch_found");
  const end = { kind: "ended", outcome: "completed", files: ["file-3"] } as const;
  const states: Partial<ClaimedRange>[] = [
    {},
    { phase: "delivering", vendorBatch: stored({ id: "batch_known", fileId: "file-2", end }) },
    { phase: "refused", vendorBatch: JSON.stringify({ refusal: "The vendor refused it." }) },
  ];
  for (const state of states) {
    batch.set(state);
    expect(await batch.lines.cleanUp(batch.held.range)).toBe(true);
  }
  expect(batch.calls).toEqual([
    "cancel batch_found",
    "delete file-1",
    "cancel batch_known",
    "delete file-2",
    "delete file-3",
  ]);
});

/** The steps of a process that reads the results of a vendor's batch. `readings`: how often one began before. */
async function readResults(readings: number, files: Partial<FileStore>) {
  const batch = startBatch("/v1/embeddings", async () => undefined, files);
  Object.assign(batch.api, { readResult: () => undefined });
  const end = { kind: "ended", outcome: "completed", files: ["file-2"] } as const;
  const vendorBatch = stored({ id: "batch_at_vendor", end });
  batch.set({ phase: "delivering", readings, vendorBatch });
  const opened = await batch.open();
  return { batch, opened, readings: batch.recorded.map((change) => change.readings) };
}

const resultsFile = (text: string): Partial<FileStore> => ({ find: async () => fileOf(text) });

test("each attempt to read the results of a vendor's batch is recorded before it begins", async () => {
  const { readings, opened } = await readResults(2, resultsFile("{}\n\n{}\n"));
  expect(readings).toEqual([3, 0]);
  expect(opened).toHaveProperty("lines");
});

test("results that no process could read in three attempts fail the batch, with the reason, and its lines are charged their estimates", async () => {
  const blank = await readResults(2, resultsFile("\n".repeat(100_001)));
  expect(blank.readings).toEqual([3]);
  expect(blank.opened).toMatchObject({ kind: "waits" });
  const { readings, batch } = await readResults(3, resultsFile("{}\n"));
  expect(readings).toEqual([]);
  expect(await batch.read()).toMatchObject([
    {
      charged: { dollars: nanos / 1e9 },
      failure: { kind: "vendor_batch_failed", message: expect.stringContaining("3 attempts") },
    },
  ]);
  expect(batch.charged).toMatchObject([{ number: 0, at: start }]);
});

test("results that cannot be read because the storage is not available are read again without end", async () => {
  const { readings, opened } = await readResults(2, {
    find: async () => {
      throw new GatewayError("storage_unavailable", "The store is down.");
    },
  });
  expect(readings).toEqual([3, 2]);
  expect(opened).toMatchObject({ kind: "waits" });
});
