/** The event of a job that has ended, for its owner. */
import type { JobEvent } from "../../contract/events.ts";
import type { StoredJob } from "../storage/ports/job-store.ts";

/** OpenAI's names for batches. An image job has the ends that its clients see. */
export function jobEventOf({ id, owner, kind, status }: StoredJob): JobEvent | undefined {
  if (status === "validating" || status === "in_progress" || status === "finalizing")
    return undefined;
  if (kind === "batch") return { type: `batch.${status}`, owner, id };
  return { type: `image.job.${status === "expired" ? "failed" : status}`, owner, id };
}
