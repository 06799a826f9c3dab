/** The delivery queue of webhook events, in the event database. */
import type { Database } from "bun:sqlite";
import type {
  ClaimedDelivery,
  DeliveryClaim,
  DeliveryOutcome,
  DeliveryStatus,
  DeliveryStore,
} from "../ports/delivery-store.ts";
import type { DeliveryState } from "../ports/event-store.ts";
import { eventOf } from "./event-store.ts";

export class SqliteDeliveryStore implements DeliveryStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  async claim({
    webhook,
    now,
    until,
    horizon,
  }: DeliveryClaim): Promise<ClaimedDelivery | undefined> {
    const row = this.#db
      .query<{ seq: number; attempts: number }, [string, number, number, number]>(
        `UPDATE deliveries SET due = ?3 WHERE webhook = ?1 AND seq = (
           SELECT seq FROM deliveries INDEXED BY deliveries_line
           WHERE webhook = ?1 AND state = 'waiting' AND (due <= ?2 OR due > ?4)
           ORDER BY seq LIMIT 1
         ) RETURNING seq, attempts`,
      )
      .get(webhook, now, until, horizon);
    if (!row) return undefined;
    const event = this.#db
      .query<{ seq: number; id: string; type: string; at: number; data: string }, [number]>(
        "SELECT seq, id, type, at, data FROM events WHERE seq = ?1",
      )
      .get(row.seq);
    // Events and deliveries are deleted together, so this cannot happen.
    if (!event) throw new Error(`delivery ${row.seq} has no event`);
    return { ...row, event: eventOf(event) };
  }

  async settle(outcome: DeliveryOutcome): Promise<void> {
    const { seq, webhook, state, due, at, status, problem } = outcome;
    this.#db
      .query(
        `UPDATE deliveries SET state = ?3, due = ?4, last_at = ?5, status = ?6, problem = ?7,
           attempts = attempts + 1
         WHERE webhook = ?1 AND seq = ?2 AND state = 'waiting'`,
      )
      .run(webhook, seq, state, due, at, status, problem);
  }

  async release(webhook: string, seq: number, due: number): Promise<void> {
    this.#db
      .query("UPDATE deliveries SET due = ?3 WHERE webhook = ?1 AND seq = ?2 AND state = 'waiting'")
      .run(webhook, seq, due);
  }

  async abandonAll(webhook: string, problem: string): Promise<number> {
    return this.#db
      .query(
        `UPDATE deliveries SET state = 'abandoned', problem = ?2
         WHERE webhook = ?1 AND state = 'waiting'`,
      )
      .run(webhook, problem).changes;
  }

  async requeue(webhook: string, eventId: string, now: number): Promise<boolean> {
    return (
      this.#db
        .query(
          `UPDATE deliveries SET state = 'waiting', attempts = 0, due = ?3
           WHERE webhook = ?1 AND seq = (SELECT seq FROM events WHERE id = ?2)`,
        )
        .run(webhook, eventId, now).changes > 0
    );
  }

  async nextDue(webhook: string): Promise<number | undefined> {
    const row = this.#db
      .query<{ due: number | null }, [string]>(
        "SELECT MIN(due) AS due FROM deliveries WHERE webhook = ?1 AND state = 'waiting'",
      )
      .get(webhook);
    return row?.due ?? undefined;
  }

  async status(webhook: string): Promise<DeliveryStatus> {
    const counts = this.#db
      .query<{ state: DeliveryState; count: number }, [string]>(
        "SELECT state, COUNT(*) AS count FROM deliveries WHERE webhook = ?1 GROUP BY state",
      )
      .all(webhook);
    const last = this.#db
      .query<NonNullable<DeliveryStatus["last"]>, [string]>(
        `SELECT events.id AS event, last_at AS at, state, status, problem
         FROM deliveries JOIN events USING (seq)
         WHERE webhook = ?1 AND last_at IS NOT NULL ORDER BY last_at DESC, seq DESC LIMIT 1`,
      )
      .get(webhook);
    const count = (state: DeliveryState): number =>
      counts.find((row) => row.state === state)?.count ?? 0;
    return {
      waiting: count("waiting"),
      delivered: count("delivered"),
      abandoned: count("abandoned"),
      last: last ?? undefined,
    };
  }
}
