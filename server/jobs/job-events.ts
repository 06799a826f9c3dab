/** The event of a job that has ended, for its owner. */
import type { JobEvent } from "../../contract/events.ts";
import type { StoredJob } from "../storage/sql/stored-job.ts";

/** OpenAI's names for batches. An image job has the ends that its clients see. */
export function jobEventOf({ id, owner, kind, status, data }: StoredJob): JobEvent | undefined {
  const { webhook: named } = data as JobWebhook;
  const webhook = named === undefined ? {} : { webhook: named };
  if (status === "validating" || status === "in_progress" || status === "finalizing")
    return undefined;
  if (kind === "batch") return { type: `batch.${status}`, owner, id, ...webhook };
  const type = `image.job.${status === "expired" ? "failed" : status}` as const;
  return { type, owner, id, ...webhook };
}

/** Part of what every job stores. */
export interface JobWebhook {
  /** The id of the webhook endpoint that the client named for this job. Absent: none. */
  readonly webhook?: string;
}

/** Returns the id of the owner's endpoint with this id or name. Throws GatewayError. */
export type FindWebhook = (owner: string, given: string) => Promise<string>;

/** The webhook endpoint that the metadata of a job names. Throws GatewayError if there is none. */
export async function webhookOf(
  owner: string,
  metadata: Readonly<Record<string, string>> | null,
  find: FindWebhook,
): Promise<JobWebhook> {
  const given = metadata?.["vexel.webhook"];
  return given === undefined ? {} : { webhook: await find(owner, given) };
}
