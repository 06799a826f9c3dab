/**
 * Which hours of the ledger are exported, in PostgreSQL. An hour is due if the sums count other requests for it than at
 * its last export: so rows that arrive late, after an outage, are exported too. A claim is a row that expires, because
 * a lock would last only as long as a transaction.
 */
import { randomUUID } from "node:crypto";
import { hourMs } from "../../lib/timers.ts";
import type { SqlInteger } from "../sql/database.ts";
import { ledgerColumns } from "../sql/ledger-columns.ts";
import type { PostgresDatabase } from "./database.ts";
import { listDays } from "./ledger-partitions.ts";

export interface ExportedHour {
  /** Unix milliseconds of its start. */
  readonly hour: number;
  /** The rows that are counted for this hour. More may be appended later: then the hour is exported again. */
  readonly requests: number;
  /** Bounds of its request ids. */
  readonly firstId: string;
  readonly lastId: string;
}

interface RowPage {
  /** One JSON object per row, with the columns of the ledger. */
  readonly lines: readonly string[];
  /** Where the next page begins. */
  readonly lastId: string;
}

/** A replica that renews its claim no more has ended. */
const claimSeconds = 120;

const due = `
  SELECT hour, sum(usage.requests)::bigint AS requests, min(first_id) AS "firstId", max(last_id) AS "lastId"
  FROM vexel.usage_by_hour_without_key AS usage LEFT JOIN vexel.ledger_exports AS exported USING (hour)
  WHERE hour >= $1 AND hour < $2
  GROUP BY hour, exported.requests, exported.claim, exported.claimed_until
  HAVING sum(usage.requests) IS DISTINCT FROM exported.requests`;

const claimStatement = `
  INSERT INTO vexel.ledger_exports (hour, claim, claimed_until)
  VALUES ($1, $2, clock_timestamp() + interval '${claimSeconds} seconds')
  ON CONFLICT (hour) DO UPDATE SET claim = excluded.claim, claimed_until = excluded.claimed_until
  WHERE coalesce(ledger_exports.claimed_until < clock_timestamp(), true) OR ledger_exports.claim = $2`;

interface DueHour extends Pick<ExportedHour, "firstId" | "lastId"> {
  readonly hour: SqlInteger;
  readonly requests: SqlInteger;
}

export function createLedgerExports(db: PostgresDatabase) {
  /** Rows of earlier days are pruned. */
  const firstHour = async (): Promise<number | undefined> => (await listDays(db))[0]?.from;
  /** One process exports one hour at a time. */
  const claim = randomUUID();
  return {
    /**
     * The oldest hour that ended before `before` and is not exported, or has more rows now. Undefined if none is left.
     */
    claim: async (before: number): Promise<ExportedHour | undefined> => {
      const from = await firstHour();
      if (from === undefined) return undefined;
      const { rows } = await db.query<DueHour>(
        `${due} AND coalesce(exported.claimed_until < clock_timestamp() OR exported.claim = $3, true)
         ORDER BY hour LIMIT 1`,
        [from, before - (before % hourMs), claim],
      );
      const [found] = rows;
      if (!found) return undefined;
      const hour = { ...found, hour: Number(found.hour), requests: Number(found.requests) };
      const { count } = await db.query(claimStatement, [hour.hour, claim]);
      return count === 0 ? undefined : hour;
    },
    /** False: the claim has expired, and another replica may export the hour. */
    renew: async ({ hour }: ExportedHour): Promise<boolean> => {
      const { count } = await db.query(
        `UPDATE vexel.ledger_exports SET claimed_until = clock_timestamp() + interval '${claimSeconds} seconds'
         WHERE hour = $1 AND claim = $2`,
        [hour, claim],
      );
      return count > 0;
    },
    /** The rows after `lastId`, in the order of their ids. `percent`: a sample of them, always the same. */
    read: async (
      { hour, firstId, lastId: last }: ExportedHour,
      lastId: string,
      limit: number,
      percent: number,
    ): Promise<RowPage> => {
      const { rows } = await db.query<{ id: string; line: string }>(
        `SELECT request_id AS id, row_to_json(stored)::text AS line
         FROM (
           SELECT ${ledgerColumns.join(", ")} FROM vexel.ledger
           WHERE at >= $1 AND at < $2 AND request_id >= $3 AND request_id <= $4 AND request_id > $5
             AND ('x' || left(md5(request_id), 8))::bit(32)::bigint % 100 < $7
           ORDER BY request_id LIMIT $6
         ) AS stored ORDER BY request_id`,
        [hour, hour + hourMs, firstId, last, lastId, limit, percent],
      );
      return { lines: rows.map(({ line }) => line), lastId: rows.at(-1)?.id ?? lastId };
    },
    finish: async ({ hour, requests }: ExportedHour): Promise<void> => {
      await db.query(
        "UPDATE vexel.ledger_exports SET requests = $2, claimed_until = NULL WHERE hour = $1 AND claim = $3",
        [hour, requests, claim],
      );
    },
    /** The start of the oldest hour that is not exported. Undefined if all are. */
    firstPending: async (): Promise<number | undefined> => {
      const from = await firstHour();
      if (from === undefined) return undefined;
      const { rows } = await db.query<DueHour>(`${due} ORDER BY hour LIMIT 1`, [
        from,
        Number.MAX_SAFE_INTEGER,
      ]);
      return rows[0] && Number(rows[0].hour);
    },
  };
}

export type LedgerExports = ReturnType<typeof createLedgerExports>;
