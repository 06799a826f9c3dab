/** Missing images of a request: how many, and with which errors they failed. */
import type { ErrorKind } from "../../contract/errors.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { MissingGroup, MissingImages } from "../request/missing.ts";

export const missingFor = (count: number, error: unknown): MissingImages =>
  toMissing([{ count, error }]);

/** Undefined where no image is missing. */
export const missingFrom = (groups: readonly MissingGroup[]): MissingImages | undefined =>
  countMissing(groups) > 0 ? toMissing(groups) : undefined;

function toMissing(groups: readonly MissingGroup[]): MissingImages {
  const failed = groups.find(({ error }) => error !== undefined);
  const kind = errorCodeOf(failed?.error);
  return { count: countMissing(groups), kind, ...(failed && { error: failed.error }), groups };
}

export const countMissing = (groups: readonly MissingGroup[]): number =>
  groups.reduce((sum, { count }) => sum + count, 0);

/**
 * Assigns missing images to the failed upstream requests. The remaining images failed afterwards, with
 * `error`, or for an unknown reason.
 */
export function attributeMissing(
  missingCount: number,
  failedRequests: readonly MissingGroup[],
  error: unknown,
): MissingGroup[] {
  const groups: MissingGroup[] = [];
  let remaining = Math.max(0, missingCount);
  for (const failed of failedRequests) {
    const count = Math.min(remaining, failed.count);
    if (count > 0) groups.push({ ...failed, count });
    remaining -= count;
  }
  if (remaining > 0) groups.push({ count: remaining, error });
  return groups;
}

/** Short descriptions for the ledger, one for each error code. */
export function describeMissing(groups: readonly MissingGroup[], requested: number): string[] {
  const counts = new Map<string, { count: number; mayBeBilled: boolean }>();
  for (const { count, error, mayBeBilled = false } of groups) {
    const entry = counts.get(`${errorCodeOf(error)} ${mayBeBilled}`);
    if (entry) entry.count += count;
    else counts.set(`${errorCodeOf(error)} ${mayBeBilled}`, { count, mayBeBilled });
  }
  return [...counts].map(
    ([key, { count, mayBeBilled }]) =>
      `${key.split(" ")[0]}${requested > 1 ? ` for ${count} of ${requested}` : ""}${mayBeBilled ? ", may have been billed" : ""}`,
  );
}

/** Without an error, the upstream returned fewer images than requested. */
const errorCodeOf = (error: unknown): ErrorKind =>
  error === undefined
    ? "upstream_invalid"
    : error instanceof GatewayError
      ? error.kind
      : "internal";
