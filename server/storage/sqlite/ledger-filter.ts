/** Filters of ledger queries as SQL conditions. */
import type { SQLQueryBindings } from "bun:sqlite";
import {
  type LedgerFilter,
  type LedgerListQuery,
  type UsageDimension,
  usageDimensions,
} from "../ports/ledger-queries.ts";
import { groupColumns } from "./usage-table.ts";

export interface Condition {
  readonly sql: string;
  readonly values: SQLQueryBindings[];
}

export const columnOf = (dimension: UsageDimension): string =>
  groupColumns[usageDimensions.indexOf(dimension)] ?? dimension;

/** `absent`: how the table stores a value that a request does not have. */
export function filterOf(filter: LedgerFilter, absent: "''" | "NULL"): Condition {
  const parts: string[] = [];
  const values: SQLQueryBindings[] = [];
  for (const dimension of usageDimensions) {
    const value = filter[dimension];
    if (value === undefined) continue;
    if (value === null) parts.push(`${columnOf(dimension)} IS ${absent}`);
    else {
      parts.push(`${columnOf(dimension)} = ?`);
      values.push(value);
    }
  }
  if (filter.projects) {
    parts.push(`project IN (${filter.projects.map(() => "?").join(", ")})`);
    values.push(...filter.projects);
  }
  return { sql: parts.map((part) => ` AND ${part}`).join(""), values };
}

/** The part of a list's filter that usage does not have. */
export function rowFilterOf(query: LedgerListQuery): Condition {
  const parts: string[] = [];
  const values: SQLQueryBindings[] = [];
  const add = (sql: string, value: SQLQueryBindings | undefined): void => {
    if (value === undefined) return;
    parts.push(sql);
    values.push(value);
  };
  add("request_id = ?", query.requestId);
  add("error = ?", query.error);
  for (const [column, range] of [
    ["status", query.status],
    ["latency_ms", query.latencyMs],
    ["cost", query.cost],
  ] as const) {
    add(`${column} >= ?`, range?.min);
    add(`${column} <= ?`, range?.max);
  }
  if (query.failed !== undefined) parts.push(`error IS ${query.failed ? "NOT " : ""}NULL`);
  return { sql: parts.map((part) => ` AND ${part}`).join(""), values };
}
