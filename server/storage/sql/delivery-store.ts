/** The delivery queue of webhook events in a SQL database: each delivery is claimed under a lease by one process. */
import type { DeliveryStatus, DeliveryStore } from "../ports/delivery-store.ts";
import type { DeliveryState } from "../ports/event-store.ts";
import type { SqlDatabase, SqlInteger } from "./database.ts";
import { type EventRow, eventOf } from "./event-store.ts";

export const createDeliveryStore = (db: SqlDatabase): DeliveryStore => ({
  async claim({ webhook, now, until, horizon }) {
    // Another replica may be claiming the oldest delivery: then this replica takes the next one. The plus signs keep
    // the index by time out of the plan: the index by number has the oldest delivery first.
    const { rows: claimed } = await db.query<{ seq: SqlInteger; attempts: number }>(
      `UPDATE vexel.deliveries SET due = $3 WHERE webhook = $1 AND seq = (
         SELECT seq FROM vexel.deliveries
         WHERE webhook = $1 AND state = 'waiting' AND (+due <= $2 OR +due > $4)
         ORDER BY seq LIMIT 1 ${db.lockRows}
       ) RETURNING seq, attempts`,
      [webhook, now, until, horizon],
    );
    if (!claimed[0]) return undefined;
    const { seq, attempts } = claimed[0];
    const { rows } = await db.query<EventRow>("SELECT * FROM vexel.events WHERE seq = $1", [seq]);
    // Undefined: the event was pruned meanwhile, with its deliveries.
    return rows[0] && { seq: Number(seq), attempts, event: eventOf(rows[0]) };
  },

  async settle({ seq, webhook, state, due, at, status, problem }) {
    await db.query(
      `UPDATE vexel.deliveries SET state = $3, due = $4, last_at = $5, status = $6, problem = $7,
         attempts = attempts + 1
       WHERE webhook = $1 AND seq = $2 AND state = 'waiting'`,
      [webhook, seq, state, due, at, status, problem],
    );
  },

  async release(webhook, seq, due) {
    await db.query(
      `UPDATE vexel.deliveries SET due = $3
       WHERE webhook = $1 AND seq = $2 AND state = 'waiting'`,
      [webhook, seq, due],
    );
  },

  async abandonAll(webhook, problem) {
    const { count } = await db.query(
      `UPDATE vexel.deliveries SET state = 'abandoned', problem = $2
       WHERE webhook = $1 AND state = 'waiting'`,
      [webhook, problem],
    );
    return count;
  },

  async requeue(webhook, eventId, now) {
    const { count } = await db.query(
      `UPDATE vexel.deliveries SET state = 'waiting', attempts = 0, due = $3
       WHERE webhook = $1 AND seq = (SELECT seq FROM vexel.events WHERE id = $2)`,
      [webhook, eventId, now],
    );
    return count > 0;
  },

  async nextDue(webhook) {
    const { rows } = await db.query<{ due: number | null }>(
      "SELECT min(due) AS due FROM vexel.deliveries WHERE webhook = $1 AND state = 'waiting'",
      [webhook],
    );
    return rows[0]?.due ?? undefined;
  },

  async status(webhook) {
    const { rows: counts } = await db.query<{ state: DeliveryState; count: SqlInteger }>(
      "SELECT state, count(*) AS count FROM vexel.deliveries WHERE webhook = $1 GROUP BY state",
      [webhook],
    );
    const { rows: last } = await db.query<NonNullable<DeliveryStatus["last"]>>(
      `SELECT events.id AS event, last_at AS at, state, status, problem
       FROM vexel.deliveries JOIN vexel.events USING (seq)
       WHERE webhook = $1 AND last_at IS NOT NULL ORDER BY last_at DESC, seq DESC LIMIT 1`,
      [webhook],
    );
    const count = (state: DeliveryState): number =>
      Number(counts.find((row) => row.state === state)?.count ?? 0);
    return {
      waiting: count("waiting"),
      delivered: count("delivered"),
      abandoned: count("abandoned"),
      last: last[0],
    };
  },
});
