/**
 * Queries of the ledger: lists of rows, and usage by hour, day or month. They run off the thread that serves requests.
 */

import type { PageRequest, StoredPage } from "../sql/page.ts";
import type { LedgerRow } from "./ledger-row.ts";

/** The default is every value. `null`: requests without this value. */
export interface LedgerFilter {
  readonly keyId?: string | undefined;
  /** Only requests of these keys. */
  readonly keyIds?: readonly string[] | undefined;
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
  /** Not the requests of this project, such as those of the gateway itself. */
  readonly exceptProject?: string | undefined;
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
  /** true: only requests that the gateway refused. false: only others. */
  readonly refused?: boolean | undefined;
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

/**
 * A label is a value in the column `label` of the usage tables. Clients choose the names of tags and end users, so the
 * number of labels is bounded. `tags`: all tags of a request, separated by commas. `failedStatus`: the HTTP status of a
 * failed request. A query of usage has one kind of label at most.
 */
export const labelKinds = ["tag", "tags", "endUser", "failedStatus"] as const;
export type LabelKind = (typeof labelKinds)[number];

export interface UsageQuery extends LedgerFilter {
  /** Unix milliseconds, rounded down to a whole hour (UTC), because usage is stored by the hour. */
  readonly from: number;
  /** Unix milliseconds, exclusive. Rounded up to a whole hour (UTC). */
  readonly to: number;
  /** The periods that usage is summed over. */
  readonly interval: "hour" | "day" | "month" | "total";
  /** The time zone of days and months, such as `Europe/Berlin`. The default is UTC, which is fastest. */
  readonly timeZone?: string | undefined;
  /** Requests without a label of the kind are in no group. A request is in the group of each of its tags. */
  readonly groupBy?: readonly (LedgerDimension | LabelKind)[] | undefined;
  /**
   * Only requests with any tag (`tag`) or with an end user, each of them once. Not together with a group or filter
   * by label.
   */
  readonly attributedBy?: "tag" | "endUser" | undefined;
  /** Sums several groups as one. */
  readonly groupNames?: GroupNames | undefined;
  /** The maximum number of groups. */
  readonly limit: number;
}

/** A name for each group of a query. Groups with the same name are summed. */
export interface GroupNames {
  /** By the values of `groupBy`, as `groupKey` joins them. */
  readonly of: ReadonlyMap<string, string>;
  /** The name of all other groups. */
  readonly other: string;
}

/** An absent value is the empty text. */
export const groupKey = (values: readonly (string | null)[]): string =>
  values.map((value) => value ?? "").join("\n");

/** Upper bounds of the latency histogram. The last count is for latencies above all of them. */
export const latencyBoundsMs = [
  10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000,
] as const;

/** Sums over requests that arrived in one hour. */
export interface LedgerSums {
  readonly requests: number;
  /** Requests that ended with an error. */
  readonly errors: number;
  /** Those of them that the gateway refused. Requests before this was counted are not among them. */
  readonly refused: number;
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

/** Dimensions that are not in `groupBy` are absent. With `groupNames`, only the name is present. */
export interface UsageGroup
  extends LedgerSums,
    Partial<Record<LedgerDimension | LabelKind, string | null>> {
  /** The start of the period, Unix milliseconds: of the whole query if the interval is "total". */
  readonly from: number;
  /** Of `groupNames`. */
  readonly name?: string;
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
