/** The filters are in the address, so that a search can be shared as a link. */
import { type Range, ranges, startOf } from "../../lib/range.ts";

const filterNames = [
  "from",
  "to",
  "model",
  "key",
  "project",
  "target",
  "tag",
  "end_user",
  "created_by",
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
  /** New requests are shown as they end. */
  readonly live?: "true";
  /** The id of the request beside the list. */
  readonly open?: string;
}

const isTime = (value: string): boolean => !Number.isNaN(Date.parse(value));
const isAmount = (value: string): boolean => /^\d{1,12}(\.\d{1,12})?$/.test(value);

/** Filters whose values the gateway checks. */
const checks: Readonly<Partial<Record<FilterName, (value: string) => boolean>>> = {
  from: isTime,
  to: isTime,
  status: (value) => /^(?:ok|error|refused|failed|[1-5]xx|[1-5]\d\d)$/.test(value),
  min_latency_ms: isAmount,
  max_latency_ms: isAmount,
  min_cost: isAmount,
  max_cost: isAmount,
  internal: (value) => value === "true",
};

/** The gateway accepts longer end users. */
const maxLength = 300;

/** Without what is not valid: an address that somebody has typed shows the page. */
export function readRequestsSearch(search: Record<string, unknown>): RequestsSearch {
  const filters = filterNames.flatMap((name) => {
    const value = search[name];
    if (typeof value !== "string" || value === "") return [];
    const isValid = checks[name]?.(value) ?? (name === "end_user" || value.length <= maxLength);
    return isValid ? [[name, value] as const] : [];
  });
  const range = ranges.find((each) => each === search.range);
  const { live, open } = search;
  return {
    ...Object.fromEntries(filters),
    ...(range && { range }),
    ...(live === "true" && { live }),
    ...(typeof open === "string" && open !== "" && open.length <= maxLength && { open }),
  };
}

/** The parameters of /requests. */
export function listFilters(search: RequestsSearch): Readonly<Record<string, string | undefined>> {
  const { range, live: _live, open: _open, ...filters } = search;
  return { ...filters, from: filters.from ?? (range && startOf(range)) };
}
