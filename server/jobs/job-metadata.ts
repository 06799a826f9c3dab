/**
 * `metadata` of a job: up to 16 pairs that its client reads back. It may name the webhook endpoint of the job's event.
 */
import type { JobEvent } from "../../contract/events.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { StoredJob } from "../storage/sql/stored-job.ts";
import type { GenerationQuery } from "../upstream/contract.ts";

const maxPairs = 16;
const maxKeyLength = 64;
const maxValueLength = 512;

type Metadata = Readonly<Record<string, string>>;

/** Takes `metadata` out of an image query: it belongs to the job, and no upstream gets it. Throws GatewayError. */
export function splitMetadata(given: GenerationQuery): {
  readonly query: GenerationQuery;
  readonly metadata: Metadata;
} {
  const { metadata, ...extraFields } = given.extraFields;
  return { query: { ...given, extraFields }, metadata: checkMetadata(metadata ?? {}) };
}

export function checkMetadata(metadata: unknown): Metadata {
  const isObject = typeof metadata === "object" && metadata !== null && !Array.isArray(metadata);
  const pairs: [string, unknown][] = isObject ? Object.entries(metadata) : [];
  const isValid = (value: unknown): boolean =>
    typeof value === "string" && value.length <= maxValueLength;
  if (
    isObject &&
    pairs.length <= maxPairs &&
    pairs.every(([key, value]) => key.length <= maxKeyLength && isValid(value))
  )
    return metadata as Metadata;
  throw new GatewayError(
    "invalid_value",
    `Invalid 'metadata': expected an object with up to ${maxPairs} pairs, whose keys have up to ${maxKeyLength} and whose values are strings of up to ${maxValueLength} characters.`,
    { param: "metadata" },
  );
}

/** The event of a job that has ended. OpenAI's names for batches. An image job has the ends that its clients see. */
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
  /** The id of the webhook endpoint that the client named for this job. If absent, none. */
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
