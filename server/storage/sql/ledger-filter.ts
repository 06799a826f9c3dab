/** The conditions of ledger queries, as SQL with numbered parameters. */
import {
  type LedgerFilter,
  type LedgerListQuery,
  ledgerDimensions,
} from "../ports/ledger-queries.ts";
import type { Parameters, SqlValue } from "./database.ts";
import { rowLabelFilterOf } from "./labels.ts";
import { columnOf, refusedCondition } from "./ledger-columns.ts";

const joined = (conditions: readonly string[]): string =>
  conditions.map((condition) => ` AND ${condition}`).join("");

/** `isAbsent`: the condition of a column without a value: in a roll-up, or in a row, which also has labels. */
export function filterOf(
  filter: LedgerFilter,
  isAbsent: "= ''" | "IS NULL",
  parameters: Parameters,
): string {
  const conditions: string[] = [];
  for (const dimension of ledgerDimensions) {
    const value = filter[dimension];
    if (value === undefined) continue;
    const column = columnOf(dimension);
    conditions.push(
      value === null ? `${column} ${isAbsent}` : `${column} = ${parameters.add(value)}`,
    );
  }
  if (filter.keyIds) conditions.push(parameters.inList("key_id", filter.keyIds));
  if (filter.projects) {
    conditions.push(parameters.inList("project", filter.projects));
  }
  if (filter.exceptProject !== undefined) {
    const isOther = `project <> ${parameters.add(filter.exceptProject)}`;
    conditions.push(`(project ${isAbsent} OR ${isOther})`);
  }
  if (isAbsent === "IS NULL") conditions.push(...rowLabelFilterOf(filter, parameters));
  return joined(conditions);
}

/** The cursor `TIME.REQUEST_ID` of a list. Undefined if the list begins with the latest row. */
export function parseCursor(cursor: string | undefined) {
  const [, at, requestId] = /^(\d{1,16})\.(.*)$/s.exec(cursor ?? "") ?? [];
  return at === undefined || requestId === undefined ? undefined : { at: Number(at), requestId };
}

/** The part of a list's filter that the roll-ups do not have. */
export function rowFilterOf(query: LedgerListQuery, parameters: Parameters): string {
  const conditions: string[] = [];
  const add = (comparison: string, value: SqlValue | undefined): void => {
    if (value !== undefined) conditions.push(`${comparison} ${parameters.add(value)}`);
  };
  add("request_id =", query.requestId);
  add("error =", query.error);
  for (const [column, range] of [
    ["status", query.status],
    ["latency_ms", query.latencyMs],
    ["cost", query.cost],
  ] as const) {
    add(`${column} >=`, range?.min);
    add(`${column} <=`, range?.max);
  }
  if (query.failed !== undefined) conditions.push(`error IS ${query.failed ? "NOT " : ""}NULL`);
  if (query.refused !== undefined)
    conditions.push(query.refused ? refusedCondition : `NOT ${refusedCondition}`);
  return joined(conditions);
}
