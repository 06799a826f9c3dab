/** The delivery queue of webhook events in PostgreSQL: each delivery is claimed under a lease by one replica. */
import type {
  ClaimedDelivery,
  DeliveryClaim,
  DeliveryOutcome,
  DeliveryStatus,
  DeliveryStore,
} from "../ports/delivery-store.ts";
import type { DeliveryState } from "../ports/event-store.ts";
import type { PostgresDatabase } from "./database.ts";
import { type EventRow, eventOf } from "./event-store.ts";

export class PostgresDeliveryStore implements DeliveryStore {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  async claim(claim: DeliveryClaim): Promise<ClaimedDelivery | undefined> {
    const { webhook, now, until, horizon } = claim;
    // Another replica may be claiming the oldest one: then this one takes the next.
    const { rows } = await this.#db.query<EventRow & { readonly attempts: number }>(
      `WITH claimed AS (
         UPDATE vexel.deliveries SET due = $3 WHERE webhook = $1 AND seq = (
           SELECT seq FROM vexel.deliveries
           WHERE webhook = $1 AND state = 'waiting' AND (due <= $2 OR due > $4)
           ORDER BY seq LIMIT 1 FOR UPDATE SKIP LOCKED
         ) RETURNING seq, attempts
       )
       SELECT events.*, attempts FROM claimed JOIN vexel.events USING (seq)`,
      [webhook, now, until, horizon],
    );
    const [row] = rows;
    return row && { seq: Number(row.seq), attempts: row.attempts, event: eventOf(row) };
  }

  async settle(outcome: DeliveryOutcome): Promise<void> {
    const { seq, webhook, state, due, at, status, problem } = outcome;
    await this.#db.query(
      `UPDATE vexel.deliveries SET state = $3, due = $4, last_at = $5, status = $6, problem = $7,
         attempts = attempts + 1
       WHERE webhook = $1 AND seq = $2 AND state = 'waiting'`,
      [webhook, seq, state, due, at, status, problem],
    );
  }

  async release(webhook: string, seq: number, due: number): Promise<void> {
    await this.#db.query(
      `UPDATE vexel.deliveries SET due = $3
       WHERE webhook = $1 AND seq = $2 AND state = 'waiting'`,
      [webhook, seq, due],
    );
  }

  async abandonAll(webhook: string, problem: string): Promise<number> {
    const { count } = await this.#db.query(
      `UPDATE vexel.deliveries SET state = 'abandoned', problem = $2
       WHERE webhook = $1 AND state = 'waiting'`,
      [webhook, problem],
    );
    return count;
  }

  async requeue(webhook: string, eventId: string, now: number): Promise<boolean> {
    const { count } = await this.#db.query(
      `UPDATE vexel.deliveries SET state = 'waiting', attempts = 0, due = $3
       WHERE webhook = $1 AND seq = (SELECT seq FROM vexel.events WHERE id = $2)`,
      [webhook, eventId, now],
    );
    return count > 0;
  }

  async nextDue(webhook: string): Promise<number | undefined> {
    const { rows } = await this.#db.query<{ due: number | null }>(
      "SELECT min(due) AS due FROM vexel.deliveries WHERE webhook = $1 AND state = 'waiting'",
      [webhook],
    );
    return rows[0]?.due ?? undefined;
  }

  async status(webhook: string): Promise<DeliveryStatus> {
    const { rows: counts } = await this.#db.query<{ state: DeliveryState; count: string }>(
      "SELECT state, count(*) AS count FROM vexel.deliveries WHERE webhook = $1 GROUP BY state",
      [webhook],
    );
    const { rows: last } = await this.#db.query<NonNullable<DeliveryStatus["last"]>>(
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
  }
}
