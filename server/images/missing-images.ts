/** Missing images of a request: how many, and with which errors they failed. */
import type { ErrorKind } from "../../contract/errors.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { LostImages, MissingImages } from "../request/missing.ts";

export const missingFor = (count: number, error: unknown): MissingImages =>
  toMissing([{ count, error }]);

/** Undefined where no image is missing. */
export const missingFrom = (lost: readonly LostImages[]): MissingImages | undefined =>
  countMissing(lost) > 0 ? toMissing(lost) : undefined;

function toMissing(lost: readonly LostImages[]): MissingImages {
  const failed = lost.find(({ error }) => error !== undefined);
  const kind = errorCodeOf(failed?.error);
  return { count: countMissing(lost), kind, ...(failed && { error: failed.error }), lost };
}

export const countMissing = (lost: readonly LostImages[]): number =>
  lost.reduce((sum, { count }) => sum + count, 0);

/**
 * Assigns missing images to the failed upstream requests. The remaining images failed afterwards, with
 * `error`, or for an unknown reason.
 */
export function attributeMissing(
  missingCount: number,
  failedRequests: readonly LostImages[],
  error: unknown,
): LostImages[] {
  const lost: LostImages[] = [];
  let remaining = Math.max(0, missingCount);
  for (const failed of failedRequests) {
    const count = Math.min(remaining, failed.count);
    if (count > 0) lost.push({ ...failed, count });
    remaining -= count;
  }
  if (remaining > 0) lost.push({ count: remaining, error });
  return lost;
}

/** Short descriptions for the ledger, one for each error code. */
export function describeMissing(lost: readonly LostImages[], requested: number): string[] {
  const counts = new Map<string, { count: number; unsure: boolean }>();
  for (const { count, error, unsure = false } of lost) {
    const entry = counts.get(`${errorCodeOf(error)} ${unsure}`);
    if (entry) entry.count += count;
    else counts.set(`${errorCodeOf(error)} ${unsure}`, { count, unsure });
  }
  return [...counts].map(
    ([key, { count, unsure }]) =>
      `${key.split(" ")[0]}${requested > 1 ? ` for ${count} of ${requested}` : ""}${unsure ? ", may have been billed" : ""}`,
  );
}

/** Without an error, the upstream returned fewer images than requested. */
const errorCodeOf = (error: unknown): ErrorKind =>
  error === undefined
    ? "upstream_invalid"
    : error instanceof GatewayError
      ? error.kind
      : "internal";
