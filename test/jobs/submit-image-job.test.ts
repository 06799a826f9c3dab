/** The submission of image jobs while the database fails. */
import { expect, test } from "bun:test";
import { readInput } from "../../server/jobs/image-kind.ts";
import type { JobBudget } from "../../server/jobs/job-budget.ts";
import { createJobs, type Jobs } from "../../server/jobs/jobs.ts";
import { createSubmitImageJob } from "../../server/jobs/submit-image-job.ts";
import { realTimers } from "../../server/lib/timers.ts";
import type { JobSubmission } from "../../server/pipeline/dependencies.ts";
import { StoredFiles } from "../../server/storage/files/stored-files.ts";
import { createJobStore, type JobStore } from "../../server/storage/sql/job-store.ts";
import type { NewJob } from "../../server/storage/sql/stored-job.ts";
import { openJobDatabase } from "../../server/storage/sqlite/job-database.ts";
import { temporaryFolder } from "../harness.ts";
import { unlimitedDisk } from "../unlimited-disk.ts";

/** A database that may be gone, and the jobs that a process submits. */
function startWorld() {
  const folder = temporaryFolder();
  const db = openJobDatabase(folder.path, Date.now);
  const stored = createJobStore(db);
  const state = { failsAt: undefined as keyof JobStore | undefined, isDown: false };
  // Once the statement has failed, so does each one until the database is back.
  const store = new Proxy(stored, {
    get: (target, name: keyof JobStore) => {
      if (name === state.failsAt) state.isDown = true;
      if (!state.isDown) return target[name];
      return async () => Promise.reject(new Error("The database is not available."));
    },
  });
  const files = new StoredFiles({ folder: folder.path, disk: unlimitedDisk, now: Date.now });
  const quota = { jobs: 10, bytes: 1e6 };
  const jobs = createJobs({
    store,
    files,
    quotas: { own: quota, all: quota },
    ttlMs: () => 60_000,
    controls: new Map(),
    wake: () => undefined,
    now: Date.now,
  });
  const submit = createSubmitImageJob({
    jobs,
    store,
    files,
    budget: {
      reserve: async () => ({
        estimate: 0.1,
        dollars: 0.1,
        isLikely: false,
        release: () => undefined,
      }),
      refresh: async () => undefined,
    } as unknown as JobBudget,
    findWebhook: async () => "webhook_1",
    holder: "a",
    windowMs: 60_000,
    wake: () => undefined,
    stopping: new AbortController().signal,
    timers: { ...realTimers, start: (_, fire) => setTimeout(fire, 5) },
    now: Date.now,
  });
  return {
    stored,
    files,
    submit: (given = submission) => submit(given),
    failAt: (name: keyof JobStore) => {
      state.failsAt = name;
    },
    recover: () => Object.assign(state, { failsAt: undefined, isDown: false }),
    [Symbol.asyncDispose]: async () => {
      await db.close();
      folder[Symbol.dispose]();
    },
  };
}

const submission = {
  endpoint: { operation: "generations" },
  incoming: {
    headers: { get: (name: string) => (name === "idempotency-key" ? "key 1" : null) },
    publicUrl: "http://gateway",
    signal: new AbortController().signal,
  },
  caller: { id: "key_a", hash: "hash" },
  model: { id: "gpt-image-2" },
  query: { model: "gpt-image-2", prompt: "an otter", options: {}, extraFields: {} },
} as unknown as JobSubmission;

test("a job that was started is accepted, also if the database fails when its budget is read again", async () => {
  using folder = temporaryFolder();
  const steps: string[] = [];
  const submit = createSubmitImageJob({
    jobs: {
      findSubmitted: async () => undefined,
      submit: async (job: NewJob) => ({ job: { ...job, metadata: {} }, isNew: true }),
    } as unknown as Jobs,
    store: {
      start: async () => steps.push("started") > 0,
    } as unknown as JobStore,
    files: new StoredFiles({ folder: folder.path, disk: unlimitedDisk, now: Date.now }),
    budget: {
      reserve: async () => ({
        estimate: 0.1,
        dollars: 0.1,
        isLikely: false,
        release: () => steps.push("released"),
      }),
      refresh: async () => {
        throw new Error("The database is not available.");
      },
    } as unknown as JobBudget,
    findWebhook: async () => "webhook_1",
    holder: "a",
    windowMs: 60_000,
    wake: () => void steps.push("woken"),
    stopping: new AbortController().signal,
    timers: realTimers,
    now: Date.now,
  });
  expect((await submit(submission)).status).toBe(202);
  expect(steps).toEqual(["started", "woken", "released"]);
});

for (const statement of ["create", "start"] as const) {
  test(`a job is submitted again with its idempotency key after the database failed at its ${statement}`, async () => {
    await using world = startWorld();
    world.failAt(statement);
    await expect(world.submit()).rejects.toThrow("not available");
    world.recover();
    const response = await world.submit();
    expect(response.status).toBe(202);
    const { entries } = await world.stored.listAll(null, { limit: 10 });
    expect(entries).toMatchObject([{ status: "in_progress", lines: 1 }]);
    const [job] = entries;
    expect(await readInput(world.files, job?.id ?? "")).toMatchObject({ prompt: "an otter" });
    const names = (await world.files.list("jobs")).map(({ name }) => name);
    expect(names).toEqual([expect.stringContaining(`jobs/${job?.id}/`)]);
  });
}

test("two submissions with one idempotency key at the same time are one job, which is stored", async () => {
  await using world = startWorld();
  const responses = await Promise.all([world.submit(), world.submit()]);
  expect(responses.map(({ status }) => status)).toEqual([202, 202]);
  const ids = responses.map(({ headers }) => headers.location);
  expect(new Set(ids).size).toBe(1);
  const { entries } = await world.stored.listAll(null, { limit: 10 });
  expect(entries).toMatchObject([{ status: "in_progress", lines: 1 }]);
});
