/** The submission of image jobs while the database fails. */
import { expect, test } from "bun:test";
import type { JobBudget } from "../../server/jobs/job-budget.ts";
import type { Jobs } from "../../server/jobs/jobs.ts";
import { createSubmitImageJob } from "../../server/jobs/submit-image-job.ts";
import type { JobSubmission } from "../../server/pipeline/dependencies.ts";
import { StoredFiles } from "../../server/storage/files/stored-files.ts";
import type { JobStore } from "../../server/storage/sql/job-store.ts";
import type { NewJob } from "../../server/storage/sql/stored-job.ts";
import { temporaryFolder } from "../harness.ts";
import { unlimitedDisk } from "../unlimited-disk.ts";

const submission = {
  endpoint: { operation: "generations" },
  incoming: { headers: { get: () => null }, publicUrl: "http://gateway" },
  caller: { id: "key_a", hash: "hash" },
  model: { id: "gpt-image-2" },
  query: { model: "gpt-image-2", prompt: "an otter", options: {}, extraFields: {} },
} as unknown as JobSubmission;

test("a job that was started is accepted, also if the database fails when its budget is read again", async () => {
  using folder = temporaryFolder();
  const steps: string[] = [];
  const submit = createSubmitImageJob({
    jobs: {
      submit: async (job: NewJob) => ({ job: { ...job, metadata: {} }, isNew: true }),
    } as unknown as Jobs,
    store: {
      start: async () => steps.push("started") > 0,
    } as unknown as JobStore,
    files: new StoredFiles({ folder: folder.path, disk: unlimitedDisk, now: Date.now }),
    budget: {
      reserve: async () => ({ estimate: 0.1, release: () => steps.push("released") }),
      refresh: async () => {
        throw new Error("The database is not available.");
      },
    } as unknown as JobBudget,
    findWebhook: async () => "webhook_1",
    holder: "a",
    windowMs: 60_000,
    wake: () => void steps.push("woken"),
    now: Date.now,
  });
  expect((await submit(submission)).status).toBe(202);
  expect(steps).toEqual(["started", "woken", "released"]);
});
