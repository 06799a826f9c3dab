/** Whose spend a page shows. */
import type { UsageRow } from "../../../../contract/admin.ts";
import type { RequestsSearch } from "../requests/requests-search.ts";
import { groupFilters } from "../usage/drill-down.ts";
import type { UsageRange } from "../usage/usage-range.ts";

/** The parameters of /usage that find its requests. */
export interface SpendOwner {
  readonly project?: string;
  /** The id of an API key. */
  readonly key?: string;
  /** An upstream. */
  readonly target?: string;
  readonly end_user?: string;
  /** The id of a user: the requests with the keys that the user created. */
  readonly created_by?: string;
}

/** Undefined if the group is not one value. */
export function requestsOfOwner(
  owner: SpendOwner,
  { from, to }: Pick<UsageRange, "from" | "to">,
  group: UsageRow["group"] = {},
): RequestsSearch | undefined {
  const filters = groupFilters(group);
  return filters && { ...owner, from, to, ...filters };
}
