/** The filters are in the address, so that a search can be shared as a link. */
import { type Range, ranges } from "../../lib/range.ts";

const filterNames = [
  "from",
  "to",
  "model",
  "key",
  "project",
  "target",
  "tag",
  "end_user",
  "status",
  "error",
  "min_latency_ms",
  "max_latency_ms",
  "min_cost",
  "max_cost",
  "request_id",
  "internal",
] as const;
export type FilterName = (typeof filterNames)[number];

export interface RequestsSearch extends Readonly<Partial<Record<FilterName, string>>> {
  readonly range?: Range;
}

/** The router parses a number in the address as a number. Every filter is a text. */
export function readRequestsSearch(search: Record<string, unknown>): RequestsSearch {
  const filters = filterNames.flatMap((name) => {
    const value = search[name];
    const isSet = (typeof value === "string" || typeof value === "number") && value !== "";
    return isSet ? [[name, String(value)] as const] : [];
  });
  const range = ranges.find((each) => each === search.range);
  return { ...Object.fromEntries(filters), ...(range && { range }) };
}
