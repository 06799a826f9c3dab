/** The values of a dimension that have requests in a time range, those with the most requests first. */
import { useQuery } from "@tanstack/react-query";
import { useT } from "../../i18n/messages.ts";
import { count } from "../../lib/format.ts";
import type { ComboboxOption } from "../../ui/combobox.tsx";
import { valueLabel } from "./group-series.ts";
import { usageQuery } from "./usage-query.ts";
import type { UsageFilterName } from "./usage-search.ts";

interface TimeRange {
  /** ISO 8601. */
  readonly from: string;
  readonly to?: string | undefined;
}

/** `project`: only the requests of this project. */
export function useDimensionValues(
  name: UsageFilterName,
  { from, to }: TimeRange,
  isNeeded: boolean,
  project?: string,
): readonly ComboboxOption[] {
  const t = useT();
  const query = { from, to, interval: "total", group_by: name, internal: true, project };
  const { data } = useQuery({ ...usageQuery(query, false), enabled: isNeeded, staleTime: 60_000 });
  return (data?.data ?? []).flatMap((row): ComboboxOption[] => {
    const value = row.group[name];
    if (typeof value !== "string" || value === "(other)") return [];
    return [{ value, label: valueLabel(row, name, t), hint: count(row.requests) }];
  });
}
