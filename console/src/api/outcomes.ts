/** Errors are of two kinds: requests that the gateway refused, and requests that failed. */
import type { UsageSums } from "../../../contract/admin.ts";

type Outcomes = Pick<UsageSums, "requests" | "errors" | "refused">;

const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole);

export const failedOf = ({ errors, refused }: Outcomes): number => errors - refused;

/** Of the requests that were not refused, as alerts judge it. Null if there are none. */
export const errorRate = (sums: Outcomes): number | null =>
  share(failedOf(sums), sums.requests - sums.refused);

export const refusedShare = ({ requests, refused }: Outcomes): number | null =>
  share(refused, requests);
