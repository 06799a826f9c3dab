/**
 * Rolls up the ledger: adds the rows of batches to usage by hour and by day. One replica at a time does it, so no
 * statement waits for a sum that another one changes.
 */
import { dayMs } from "../../lib/timers.ts";
import { Parameters, type Queries } from "../sql/database.ts";
import { allTagsPrefix, maxLabels, otherName } from "../sql/labels.ts";
import { groupColumns, sumColumns } from "../sql/ledger-columns.ts";
import { hasLabel, type RollUp, rollUps } from "../sql/roll-ups.ts";
import type { PostgresDatabase } from "./database.ts";
import { type Batches, readBatches, tunePlanner, usageOf } from "./ledger-batches.ts";

/** Any constant: the key of the advisory lock of the roll-up. */
const lockKey = 8_350_917_203;
/** The rows of one transaction: a second or two, also if each is a group of its own on a busy database. */
const maxRows = 10_000;

/**
 * Rolls up all batches if one of them is older than `olderThanMs`, by the clock of the database. Does nothing while
 * another replica does it.
 */
export async function rollUpLedger(db: PostgresDatabase, olderThanMs: number): Promise<void> {
  const { rows } = await db.query(
    `SELECT FROM vexel.ledger_batches
     WHERE appended_at <= clock_timestamp() - $1 * interval '1 millisecond' LIMIT 1`,
    [olderThanMs],
  );
  if (rows.length === 0) return;
  while (await db.transaction(rollUpStep));
}

/** True: there may be more. */
async function rollUpStep(db: Queries): Promise<boolean> {
  const { rows } = await db.query<{ locked: boolean }>(
    "SELECT pg_try_advisory_xact_lock($1::bigint) AS locked",
    [lockKey],
  );
  if (!rows[0]?.locked) return false;
  await tunePlanner(db);
  const batches = await readBatches(db, maxRows);
  if (!batches) return false;
  const parameters = new Parameters();
  await db.query(rollUpStatement(batches, parameters), parameters.values);
  return batches.rows >= maxRows;
}

function rollUpStatement(batches: Batches, parameters: Parameters): string {
  const additions = Object.values(rollUps).map(
    (rollUp) => `${rollUp.table}_added AS (${addition(rollUp)})`,
  );
  return `
    WITH deleted AS (
      DELETE FROM vexel.ledger_batches WHERE id = ANY (${parameters.add(batches.ids)}::text::bigint[])
    ), new AS MATERIALIZED (${usageOf(batches, parameters)}),
    ${labeledUsage(batches, parameters)},
    ${additions.join(", ")}
    SELECT`;
}

/**
 * `labeled`: the usage by label, with bounded labels: those with all tags of a request, and all others. Labels that the hour has already stay, then come those with the
 * most requests.
 */
function labeledUsage(batches: Batches, parameters: Parameters): string {
  const columns = rollUps.hourWithLabel.columns;
  const filter = " AND (tags IS NOT NULL OR end_user IS NOT NULL OR error IS NOT NULL)";
  const rank = (of: string): string =>
    `row_number() OVER (PARTITION BY ${of}, starts_with(label, '${allTagsPrefix}') ORDER BY known.label IS NULL, requests DESC, label)`;
  return `unbounded AS MATERIALIZED (${usageOf(batches, parameters, { columns, filter })}),
    named AS (
      SELECT hour, key_id, label, sum(requests) AS requests FROM unbounded GROUP BY 1, 2, 3
    ),
    known AS (
      SELECT DISTINCT hour, key_id, label FROM vexel.usage_by_hour_and_label
      WHERE hour IN (SELECT hour FROM named) AND label NOT LIKE '%=${otherName}'
    ), ranked AS (
      SELECT hour, key_id, label, ${rank("hour, key_id")} AS of_key, ${rank("hour")} AS of_hour
      FROM named FULL JOIN known USING (hour, key_id, label)
    ), labeled AS MATERIALIZED (
      SELECT hour, first_id, last_id, ${[...groupColumns, ...sumColumns].join(", ")},
        CASE WHEN of_key > ${maxLabels.ofKey} OR of_hour > ${maxLabels.ofHour}
          THEN split_part(label, '=', 1) || '=${otherName}' ELSE label END AS label
      FROM unbounded LEFT JOIN ranked USING (hour, key_id, label)
    )`;
}

/** Adds the usage of `new` or `labeled` to a roll-up. */
function addition(rollUp: RollUp): string {
  const { table, start, columns } = rollUp;
  const primaryKey = [start, ...columns].join(", ");
  const ids = start === "hour" ? ["first_id", "last_id"] : [];
  const period = start === "hour" ? "hour" : `hour - hour % ${dayMs}`;
  const additions = [
    ...ids.map(
      (id, at) => `${id} = ${at === 0 ? "least" : "greatest"}(${table}.${id}, excluded.${id})`,
    ),
    ...sumColumns.map((name) => `${name} = ${table}.${name} + excluded.${name}`),
  ];
  return `INSERT INTO vexel.${table} (${[primaryKey, ...ids, ...sumColumns].join(", ")})
    SELECT ${[
      period,
      ...columns,
      ...ids.map((id, at) => `${at === 0 ? "min" : "max"}(${id})`),
      // As floating-point numbers, which are exact here: a sum of BIGINT is a NUMERIC, which is slow.
      ...sumColumns.map((name) => `sum(${name}::float8)`),
    ].join(", ")}
    FROM ${hasLabel(rollUp) ? "labeled" : "new"} GROUP BY ${[period, ...columns].join(", ")}
    ON CONFLICT (${primaryKey}) DO UPDATE SET ${additions.join(", ")}`;
}
