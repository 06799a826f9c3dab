/** Constructs batches: their kind of job, and the handlers of their routes. */
import { type BatchHandlers, createBatchHandlers } from "../api/batches.ts";
import { createCheckLine } from "../api/check-line.ts";
import { expiryOf } from "../api/files.ts";
import { createMayMerge } from "../api/merged-lines.ts";
import { callerOfKey } from "../auth/authenticate.ts";
import { createBatchKind } from "../batches/batch-kind.ts";
import { type Batches, createBatches } from "../batches/batches.ts";
import type { ClientFiles } from "../files/client-files.ts";
import type { FindWebhook } from "../jobs/job-events.ts";
import type { JobKind } from "../jobs/job-kind.ts";
import type { Jobs } from "../jobs/jobs.ts";
import type { Runtime } from "./runtime.ts";

const dayMs = 86_400_000;
/** What a line has besides the body of its request. */
const lineOverheadBytes = 4096;

interface WiredBatches {
  readonly kind: JobKind;
  open(jobs: Jobs): { readonly batches: Batches; readonly handlers: BatchHandlers };
}

export function wireBatches(
  runtime: Runtime,
  files: ClientFiles,
  findWebhook: FindWebhook,
): WiredBatches {
  const { settings, snapshot, now } = runtime;
  const checkLine = createCheckLine({ maxInputs: settings.VEXEL_MAX_INPUTS });
  return {
    kind: createBatchKind({
      files,
      limits: {
        maxLines: settings.VEXEL_BATCH_MAX_LINES,
        maxInputs: settings.VEXEL_BATCH_MAX_INPUTS,
        // Edits may have images as data: URLs.
        maxLineBytes:
          settings.VEXEL_MAX_BODY_BYTES + settings.VEXEL_MAX_FILE_BYTES + lineOverheadBytes,
      },
      checkerOf: (job, operation) => {
        const pinned = snapshot();
        const caller = callerOfKey(job.keyId, pinned, now());
        return async (body) => checkLine(operation, body, caller, pinned);
      },
      mayMerge: createMayMerge(snapshot, settings.VEXEL_MAX_INPUTS),
      expiryOf: (createdAt, seconds) =>
        expiryOf(
          createdAt,
          "batch_output",
          seconds ?? undefined,
          settings.VEXEL_FILES_DAYS * dayMs,
        ),
    }),
    open: (jobs) => {
      const maxBytes = settings.VEXEL_BATCH_MAX_BYTES;
      const batches = createBatches({ jobs, files, findWebhook, maxBytes, now });
      return { batches, handlers: createBatchHandlers({ snapshot, batches, now }) };
    },
  };
}
