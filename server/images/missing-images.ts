/** Pictures that were asked for and are not there: how many, and what they failed with. */
import type { FaultName } from "../../contract/faults.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { Lost, Missing } from "../request/missing.ts";

export const missingFor = (count: number, error: unknown): Missing => toMissing([{ count, error }]);

/** Undefined where nothing is. */
export const missingFrom = (lost: readonly Lost[]): Missing | undefined =>
  countMissing(lost) > 0 ? toMissing(lost) : undefined;

function toMissing(lost: readonly Lost[]): Missing {
  const failed = lost.find(({ error }) => error !== undefined);
  const fault = errorCodeOf(failed?.error);
  return { count: countMissing(lost), fault, ...(failed && { error: failed.error }), lost };
}

export const countMissing = (lost: readonly Lost[]): number =>
  lost.reduce((sum, { count }) => sum + count, 0);

/** So many are not there. What no call failed with, they failed with afterwards: `error`, or nobody says. */
export function attributeMissing(lacking: number, calls: readonly Lost[], error: unknown): Lost[] {
  const lost: Lost[] = [];
  let left = Math.max(0, lacking);
  for (const each of calls) {
    const count = Math.min(left, each.count);
    if (count > 0) lost.push({ ...each, count });
    left -= count;
  }
  if (left > 0) lost.push({ count: left, error });
  return lost;
}

/** For the ledger, in few words: the same failure once. */
export function describeMissing(lost: readonly Lost[], asked: number): string[] {
  const counts = new Map<string, { count: number; unsure: boolean }>();
  for (const { count, error, unsure = false } of lost) {
    const words = counts.get(`${errorCodeOf(error)} ${unsure}`);
    if (words) words.count += count;
    else counts.set(`${errorCodeOf(error)} ${unsure}`, { count, unsure });
  }
  return [...counts].map(
    ([key, { count, unsure }]) =>
      `${key.split(" ")[0]}${asked > 1 ? ` for ${count} of ${asked}` : ""}${unsure ? ", may have been paid" : ""}`,
  );
}

/** Without a failure there are fewer than the upstream was asked for. */
const errorCodeOf = (error: unknown): FaultName =>
  error === undefined
    ? "upstream_invalid"
    : error instanceof GatewayError
      ? error.fault
      : "internal";
