/** The delivery queue of webhook events (at least once), in the event database, so that it survives a restart. */
import type { Database } from "bun:sqlite";
import { type DeliveryState, eventOf, type StoredEvent } from "./event-store.ts";

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

export interface DeliveryStatus {
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

export class Deliveries {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Claims the oldest due delivery until `until` (a lease): if the process dies, the next one claims it again. A
   * delivery that is due later than `horizon` was scheduled before the clock was set back, and is due as well.
   */
  claim(webhook: string, now: number, until: number, horizon: number): ClaimedDelivery | undefined {
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

  settle({ seq, webhook, state, due, at, status, problem }: DeliveryOutcome): void {
    this.#db
      .query(
        `UPDATE deliveries SET state = ?3, due = ?4, last_at = ?5, status = ?6, problem = ?7,
           attempts = attempts + 1
         WHERE webhook = ?1 AND seq = ?2 AND state = 'waiting'`,
      )
      .run(webhook, seq, state, due, at, status, problem);
  }

  /** Undoes a claim. */
  release(webhook: string, seq: number, due: number): void {
    this.#db
      .query("UPDATE deliveries SET due = ?3 WHERE webhook = ?1 AND seq = ?2 AND state = 'waiting'")
      .run(webhook, seq, due);
  }

  /** Abandons all pending deliveries of a webhook. Returns how many. */
  giveUp(webhook: string, problem: string): number {
    return this.#db
      .query(
        `UPDATE deliveries SET state = 'abandoned', problem = ?2
         WHERE webhook = ?1 AND state = 'waiting'`,
      )
      .run(webhook, problem).changes;
  }

  /** When the next delivery is due. Undefined: none is pending. */
  nextDue(webhook: string): number | undefined {
    const row = this.#db
      .query<{ due: number | null }, [string]>(
        "SELECT MIN(due) AS due FROM deliveries WHERE webhook = ?1 AND state = 'waiting'",
      )
      .get(webhook);
    return row?.due ?? undefined;
  }

  /** Counts over the stored events. */
  status(webhook: string): DeliveryStatus {
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
