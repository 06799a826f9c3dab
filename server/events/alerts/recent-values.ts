/** The latest values of an alert rule, so that people see how far it is from its bound, and how it got there. */
import { maxAlertValues } from "../../../contract/admin/list-bounds.ts";
import type { AlertRule } from "../../config/snapshot.ts";
import type { StoredValues } from "../../storage/sql/alert-store.ts";

const minuteMs = 60_000;
const pointsPerWindow = 15;

/** What the values of a rule are values of. */
const measuredBy = ({ metric, minutes, model, project, upstream }: AlertRule): string =>
  JSON.stringify([metric, minutes, model, project, upstream]);

/** Undefined if the rule was changed since. */
export const valuesOf = (rule: AlertRule, values: StoredValues | undefined) =>
  values?.of === measuredBy(rule) ? values.points : undefined;

export const shortNumber = (value: number | null): number | null =>
  value === null ? null : Number(value.toPrecision(6));

/** The newest value replaces the one before it, until that is as old as a part of the window. */
export function withValue(
  rule: AlertRule,
  before: StoredValues | undefined,
  { at, value }: { readonly at: number; readonly value: number | null },
): StoredValues {
  const points = valuesOf(rule, before) ?? [];
  const spacing = Math.max(1, rule.minutes / pointsPerWindow) * minuteMs;
  const [last, previous] = [points.at(-1), points.at(-2)];
  const isTooClose = last && previous && last[0] - previous[0] < spacing;
  const kept = isTooClose ? points.slice(0, -1) : points;
  const next = [...kept, [at, shortNumber(value)] as const].slice(-maxAlertValues);
  return { of: measuredBy(rule), points: next };
}
