/** `metadata` of a job: up to 16 pairs that its client reads back. */
import { GatewayError } from "../lib/gateway-error.ts";
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
