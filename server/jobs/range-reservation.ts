/** The part of budgets that is reserved for the lines of a range. It becomes smaller with each line that is charged. */
import type { LineReservation, RangeReservation } from "../storage/sql/stored-job.ts";

/** Changes of a range that no line makes, such as another upload, count this many versions. */
const changeVersions = 1_000_000;

export const noReservation: RangeReservation = { version: 0, nanos: 0, labels: {} };

export const labelsOf = (text: string | null): readonly string[] => text?.split("\t") ?? [];

/** One more line is reserved. */
export function withLine(
  reserved: RangeReservation,
  { nanos, labels }: LineReservation,
): RangeReservation {
  const sums = { ...reserved.labels };
  for (const label of labelsOf(labels)) sums[label] = (sums[label] ?? 0) + nanos;
  return { ...reserved, nanos: reserved.nanos + nanos, labels: sums };
}

/** One more line is charged, or ends without a charge. */
export function withoutLine(
  reserved: RangeReservation,
  { nanos, labels }: LineReservation,
): RangeReservation {
  const sums = { ...reserved.labels };
  for (const label of labelsOf(labels)) {
    const left = (sums[label] ?? 0) - nanos;
    if (left > 0) sums[label] = left;
    else delete sums[label];
  }
  return {
    version: reserved.version + 1,
    nanos: Math.max(0, reserved.nanos - nanos),
    labels: sums,
  };
}

/** It replaces what the range has reserved before. */
export const replacing = (
  before: RangeReservation | null,
  next: RangeReservation,
): RangeReservation => ({ ...next, version: (before?.version ?? 0) + changeVersions });
