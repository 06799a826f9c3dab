/**
 * The delivery queue of webhook events (at least once) in a SQL database: each delivery is claimed under a lease by one
 * process. It survives a restart.
 */

import type { SqlDatabase, SqlInteger } from "./database.ts";
import { type DeliveryState, type EventRow, eventOf, type StoredEvent } from "./event-store.ts";

export interface ClaimedDelivery {
  readonly seq: number;
  readonly event: StoredEvent;
  /** The number of earlier attempts. */
  readonly attempts: number;
}

export interface DeliveryOutcome {
  readonly seq: number;
  readonly webhook: string;
  readonly state: DeliveryState;
  /** When it is retried, if it is. */
  readonly due: number;
  readonly at: number;
  readonly status: number | null;
  readonly problem: string | null;
}

interface DeliveryStatus {
  /** Attempts since the last delivery, of all processes. */
  readonly failures: number;
  readonly waiting: number;
  readonly delivered: number;
  readonly abandoned: number;
  readonly last:
    | {
        readonly event: string;
        readonly at: number;
        readonly state: DeliveryState;
        readonly status: number | null;
        readonly problem: string | null;
      }
    | undefined;
}

interface DeliveryClaim {
  readonly webhook: string;
  /** Unix milliseconds. */
  readonly now: number;
  /** The end of the lease: if the process dies, the next one claims the delivery again after it. */
  readonly until: number;
}

/** Every method rejects once the store is closed. */
export const createDeliveryStore = (db: SqlDatabase) => ({
  /** Claims the oldest due delivery of a webhook. Two processes never claim the same one. */
  async claim({ webhook, now, until }: DeliveryClaim): Promise<ClaimedDelivery | undefined> {
    // Another replica may be claiming the oldest delivery: then this replica takes the next one. The plus signs keep
    // the index by time out of the plan: the index by number has the oldest delivery first.
    const { rows: claimed } = await db.query<{ seq: SqlInteger; attempts: number }>(
      `UPDATE vexel.deliveries SET due = $3 WHERE webhook = $1 AND seq = (
         SELECT seq FROM vexel.deliveries
         WHERE webhook = $1 AND state = 'waiting' AND +due <= $2
         ORDER BY seq LIMIT 1 ${db.lockRows}
       ) RETURNING seq, attempts`,
      [webhook, now, until],
    );
    if (!claimed[0]) return undefined;
    const { seq, attempts } = claimed[0];
    const { rows } = await db.query<EventRow>("SELECT * FROM vexel.events WHERE seq = $1", [seq]);
    // Undefined if the event was pruned meanwhile, with its deliveries.
    return rows[0] && { seq: Number(seq), attempts, event: eventOf(rows[0]) };
  },

  /** Records the outcome of an attempt, unless the delivery is no longer pending. */
  async settle({ seq, webhook, state, due, at, status, problem }: DeliveryOutcome): Promise<void> {
    await db.query(
      `UPDATE vexel.deliveries SET state = $3, due = $4, last_at = $5, status = $6, problem = $7,
         attempts = attempts + 1
       WHERE webhook = $1 AND seq = $2 AND state = 'waiting'`,
      [webhook, seq, state, due, at, status, problem],
    );
  },

  /** Undoes a claim: the delivery is due at `due`. */
  async release(webhook: string, seq: number, due: number): Promise<void> {
    await db.query(
      `UPDATE vexel.deliveries SET due = $3
       WHERE webhook = $1 AND seq = $2 AND state = 'waiting'`,
      [webhook, seq, due],
    );
  },

  /** Abandons all pending deliveries of a webhook. Returns how many. */
  async abandonAll(webhook: string, problem: string): Promise<number> {
    const { count } = await db.query(
      `UPDATE vexel.deliveries SET state = 'abandoned', problem = $2
       WHERE webhook = $1 AND state = 'waiting'`,
      [webhook, problem],
    );
    return count;
  },

  /**
   * Queues the delivery of an event again, as if it had not been attempted: the count of attempts starts at 0. False:
   * the webhook has no delivery of this event. `now`: Unix milliseconds.
   */
  async requeue(webhook: string, eventId: string, now: number): Promise<boolean> {
    const { count } = await db.query(
      `UPDATE vexel.deliveries SET state = 'waiting', attempts = 0, due = $3
       WHERE webhook = $1 AND seq = (SELECT seq FROM vexel.events WHERE id = $2)`,
      [webhook, eventId, now],
    );
    return count > 0;
  },

  /** When the next delivery is due. Undefined if none is pending. */
  async nextDue(webhook: string): Promise<number | undefined> {
    const { rows } = await db.query<{ due: number | null }>(
      "SELECT min(due) AS due FROM vexel.deliveries WHERE webhook = $1 AND state = 'waiting'",
      [webhook],
    );
    return rows[0]?.due ?? undefined;
  },

  /** Counts over the stored events. */
  async status(webhook: string): Promise<DeliveryStatus> {
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
    const { rows: failed } = await db.query<{ attempts: SqlInteger }>(
      `SELECT coalesce(sum(attempts), 0) AS attempts FROM vexel.deliveries
       WHERE webhook = $1 AND state <> 'delivered' AND last_at > coalesce(
         (SELECT max(last_at) FROM vexel.deliveries WHERE webhook = $1 AND state = 'delivered'), 0)`,
      [webhook],
    );
    const count = (state: DeliveryState): number =>
      Number(counts.find((row) => row.state === state)?.count ?? 0);
    return {
      waiting: count("waiting"),
      delivered: count("delivered"),
      abandoned: count("abandoned"),
      failures: Number(failed[0]?.attempts ?? 0),
      last: last[0],
    };
  },
});

export type DeliveryStore = ReturnType<typeof createDeliveryStore>;
