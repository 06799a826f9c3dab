/**
 * Queries of the ledger: lists of rows, and usage by hour, day or month. They run off the thread that serves requests.
 */
import type { LedgerRow } from "./ledger-row.ts";
import type { PageRequest, StoredPage } from "./page.ts";

/** Absent: every value. `null`: requests without this value. */
export interface LedgerFilter {
  readonly keyId?: string | undefined;
  readonly project?: string | null | undefined;
  readonly model?: string | null | undefined;
  readonly upstream?: string | null | undefined;
  readonly targetModel?: string | null | undefined;
  /** Requests with this tag. */
  readonly tag?: string | undefined;
  /** The end user, as in the ledger. */
  readonly endUser?: string | undefined;
  /** Only requests of these projects, such as the projects of a user. An empty list matches no request. */
  readonly projects?: readonly string[] | undefined;
}

/** Both bounds are inclusive. A request whose value is unknown does not match. */
export interface ValueRange {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

export interface LedgerListQuery extends LedgerFilter, PageRequest {
  readonly requestId?: string | undefined;
  /** Unix milliseconds. */
  readonly from?: number | undefined;
  /** Unix milliseconds, exclusive. */
  readonly to?: number | undefined;
  /** true: only rows with an error. false: only rows without. */
  readonly failed?: boolean | undefined;
  /** The error kind. */
  readonly error?: string | undefined;
  /** The HTTP status. */
  readonly status?: ValueRange | undefined;
  readonly latencyMs?: ValueRange | undefined;
  /** US dollars, the known cost. */
  readonly cost?: ValueRange | undefined;
}

/** A page has fewer rows than its limit, or none, if its search took too long; then `next` continues the search. */
export interface LedgerPage extends StoredPage<LedgerRow> {
  /**
   * Set if the search reached its time limit before the page was full: every matching row that arrived at or after this
   * time (Unix milliseconds) has been listed.
   */
  readonly scannedUntil?: number;
}

export const ledgerDimensions = ["keyId", "project", "model", "upstream", "targetModel"] as const;
export type LedgerDimension = (typeof ledgerDimensions)[number];

/** Clients name them, so usage by label is bounded. A query of usage has one kind of label at most. */
export const labelKinds = ["tag", "endUser"] as const;
export type LabelKind = (typeof labelKinds)[number];

export interface UsageQuery extends LedgerFilter {
  /** Unix milliseconds, rounded down to a whole hour (UTC), because usage is stored by the hour. */
  readonly from: number;
  /** Unix milliseconds, exclusive. Rounded up to a whole hour (UTC). */
  readonly to: number;
  /** The periods (UTC) that usage is summed over. */
  readonly interval: "hour" | "day" | "month" | "total";
  /** Requests without a label of the kind are in no group. A request is in the group of each of its tags. */
  readonly groupBy?: readonly (LedgerDimension | LabelKind)[] | undefined;
  /** The maximum number of groups. */
  readonly limit: number;
}

/** Upper bounds of the latency histogram. The last count is for latencies above all of them. */
export const latencyBoundsMs = [
  10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000,
] as const;

/** Sums over requests that arrived in one hour. */
export interface LedgerSums {
  readonly requests: number;
  /** Requests that ended with an error. */
  readonly errors: number;
  /** Successful requests without a known number of input tokens. */
  readonly unmeteredRequests: number;
  /** Successful requests without a known cost. */
  readonly unpricedRequests: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly images: number;
  /** Inputs of embeddings requests. */
  readonly inputs: number;
  readonly cachedInputs: number;
  /** US dollars. */
  readonly cost: number;
  /** US dollars that may have been billed besides `cost`. */
  readonly estimatedCost: number;
  readonly latencyMs: number;
  /** Requests by latency, by `latencyBoundsMs`. */
  readonly latencyHistogram: readonly number[];
}

/** Dimensions that are not in `groupBy` are absent. */
export interface UsageGroup
  extends LedgerSums,
    Partial<Record<LedgerDimension | LabelKind, string | null>> {
  /** The start of the period, Unix milliseconds: of the whole query if the interval is "total". */
  readonly from: number;
}

export interface UsageReport {
  /** The latest period first, and in it the group with the most requests. */
  readonly groups: readonly UsageGroup[];
  /** There are more groups than the limit. */
  readonly hasMore: boolean;
}

export interface LedgerQueries {
  /** The latest rows first, by hour of arrival and request id. Rows that are still in the outbox are not listed. */
  list(query: LedgerListQuery): Promise<LedgerPage>;
  usage(query: UsageQuery): Promise<UsageReport>;
  close(): Promise<void>;
}
