/** Constructs jobs: their runner, the submission of image jobs, and the handlers of their routes. */
import { createImageJobHandlers } from "../api/image-jobs.ts";
import { createRunLine } from "../api/run-line.ts";
import { endUserOrTagBudgetOf } from "../attribution/end-user-and-tag-limits.ts";
import { callerOfKey, payerOfJob } from "../auth/authenticate.ts";
import type { OpenedEvents } from "../events/open-events.ts";
import type { ClientFiles } from "../files/client-files.ts";
import { createImageKind } from "../jobs/image-kind.ts";
import { createJobBudget } from "../jobs/job-budget.ts";
import { jobEventOf } from "../jobs/job-metadata.ts";
import { createJobs } from "../jobs/jobs.ts";
import type { JobControl } from "../jobs/line-attempts.ts";
import { LineAttempts } from "../jobs/line-attempts.ts";
import { JobRunner } from "../jobs/runner.ts";
import { jobFolder } from "../jobs/segments.ts";
import { createSubmitImageJob } from "../jobs/submit-image-job.ts";
import { createPace } from "../jobs/waits.ts";
import { ignoreRejection } from "../lib/tasks.ts";
import { dayMs, realTimers, repeat } from "../lib/timers.ts";
import type { JobKindName } from "../storage/sql/stored-job.ts";
import { wireBatches } from "./batches.ts";
import type { StoredData } from "./files.ts";
import type { RequestPath } from "./request-path.ts";
import type { Runtime } from "./runtime.ts";

/** Unfinished jobs of all projects: their rows are read again and again. */
const maxUnfinishedJobs = 10_000;
/** For batches whose files are kept until they are deleted. */
const defaultFileDays = 30;
/** How soon a process reserves the cost of a job that another process accepted, and stops to. */
const budgetRefreshMs = 1000;

export function wireJobs(
  runtime: Runtime,
  requestPath: RequestPath,
  data: StoredData,
  clientFiles: ClientFiles,
  { recordJobEvent, webhookEndpoints }: Pick<OpenedEvents, "recordJobEvent" | "webhookEndpoints">,
) {
  const { settings, snapshot, now, clock, log, replica: holder, resources, secrets } = runtime;
  const { responseMemory, byteTurns } = runtime;
  const { pipeline, modelServices, budgets, charging, inFlight } = requestPath;
  const { jobs: store, contents: files } = data;
  // A batch is stored as long as its files are by default.
  const ttlMs = (kind: JobKindName): number =>
    kind === "batch"
      ? (settings.VEXEL_FILES_DAYS || defaultFileDays) * dayMs
      : settings.VEXEL_JOBS_TTL * 1000;
  const all = { jobs: maxUnfinishedJobs, bytes: settings.VEXEL_JOBS_MAX_BYTES };
  const controls = new Map<string, JobControl>();
  const stopping = new AbortController();
  const attempts = new LineAttempts({
    store,
    secrets,
    runLine: createRunLine({
      ...modelServices,
      vendorSend: {
        embeddings: requestPath.embeddings.vendor.send,
        generations: requestPath.vendorImages.send,
      },
    }),
    callerOf: (keyId) => callerOfKey(keyId, snapshot(), now()),
    payerOf: (job) => payerOfJob(job, snapshot()),
    controlOf: (id) => controls.get(id) as JobControl,
    reservations: inFlight,
    stopping: stopping.signal,
    now,
  });
  const wake = (): void => runner.wake();
  const jobs = createJobs({
    store,
    files,
    quotas: { own: { jobs: Math.ceil(all.jobs / 2), bytes: all.bytes / 2 }, all },
    ttlMs,
    controls,
    wake,
    now,
  });
  const budget = createJobBudget({
    charging,
    budgets,
    store,
    payerOf: (job) => payerOfJob(job, snapshot()),
    endUserOrTagBudgetOf: (name, owner) => {
      const project = snapshot().projects?.get(name);
      return project && endUserOrTagBudgetOf(project, owner);
    },
    timers: realTimers,
    now,
  });
  // Until it succeeds again, this process reserves what the rows said before.
  resources.defer(repeat({ everyMs: budgetRefreshMs, isImmediate: true }, budget.refresh));
  // Half of the slots for images stay free for clients that wait.
  const imageSlots = Math.max(1, Math.floor(settings.VEXEL_MAX_IMAGE_REQUESTS / 2));
  const { batches, estimateBatch, kind, handlers } = wireBatches(runtime, {
    jobs,
    files: clientFiles,
    budget,
    data,
    findWebhook: webhookEndpoints.named,
    requestPath,
    stopping: stopping.signal,
  });
  const runner = new JobRunner({
    store,
    files,
    attempts,
    pace: createPace({
      isServing: () => pipeline.inFlight() > attempts.inFlight,
      clock,
      timers: realTimers,
      stopping: stopping.signal,
    }),
    timers: realTimers,
    byteTurns,
    kinds: [createImageKind(files, imageSlots), kind],
    holder,
    ttlMs,
    controls,
    stopping: stopping.signal,
    onCharged: budget.onCharged,
    onEnded: (job) => {
      ignoreRejection(budget.refresh());
      // Its results are in files now.
      if (job.kind === "batch") ignoreRejection(files.removeFolder(jobFolder(job.id)));
    },
    recordEvent: async (job) => {
      const event = jobEventOf(job);
      if (event) await recordJobEvent(event);
    },
    log,
    now,
  });
  // Only one process uses a data folder: the claims of earlier processes are void.
  const ready = data.isShared ? Promise.resolve() : store.releaseAll(now());
  const start = (): void => {
    // The start of the gateway may have failed meanwhile.
    if (!stopping.signal.aborted) runner.start();
  };
  ignoreRejection(ready.finally(start));
  resources.defer(() => {
    stopping.abort();
    return runner.close();
  });
  return {
    jobs,
    batches,
    estimateBatch,
    handlers: {
      ...createImageJobHandlers({ ...modelServices, snapshot, jobs, responseMemory, now }),
      ...handlers,
    },
    submitImage: createSubmitImageJob({
      jobs,
      store,
      files,
      budget,
      findWebhook: webhookEndpoints.named,
      holder,
      windowMs: settings.VEXEL_IMAGE_JOB_TIMEOUT * 1000,
      wake,
      stopping: stopping.signal,
      timers: realTimers,
      now,
    }),
    /** Claims no more lines. Lines in flight end. */
    stop: () => stopping.abort(),
  };
}
