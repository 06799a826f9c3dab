/** The event store: each event and its webhook deliveries are written in one transaction (outbox). */
import type { Database } from "bun:sqlite";
import { pruneEvents } from "./event-database.ts";

export interface StoredEvent {
  readonly id: string;
  readonly type: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface NewEvent extends StoredEvent {
  /** Deduplication key: an event with the same key is not recorded again. */
  readonly once?: string;
}

export interface EventDelivery {
  readonly webhook: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly due: number;
  readonly lastAt: number | null;
  readonly status: number | null;
  readonly problem: string | null;
}

export type DeliveryState = "waiting" | "delivered" | "abandoned";

export interface ListedEvent extends StoredEvent {
  readonly deliveries: readonly EventDelivery[];
}

export interface EventQuery {
  /** Cursor: the id of the last event of the previous page. */
  readonly after?: string | undefined;
  /** Absent: all types. */
  readonly types?: readonly string[] | undefined;
  readonly limit: number;
}

export interface Recorded {
  /** False: it was a duplicate. */
  readonly isNew: boolean;
  /** Webhooks whose oldest delivery was abandoned because too many were pending. */
  readonly crowded: readonly string[];
}

/** The limit of pending deliveries per webhook. */
const maxWaiting = 1000;
const pruneEvery = 64;

interface EventRow {
  seq: number;
  id: string;
  type: string;
  at: number;
  data: string;
}

export class EventStore {
  readonly #db: Database;
  readonly #maxWaiting: number;

  constructor(db: Database, most = maxWaiting) {
    this.#db = db;
    this.#maxWaiting = most;
  }

  /** Throws SQLite errors; then nothing is stored. */
  record(event: NewEvent, webhooks: readonly string[]): Recorded {
    return this.#db.transaction((): Recorded => {
      const { id, type, at, data, once = null } = event;
      const added = this.#db
        .query<{ seq: number }, [string, string, number, string, string | null]>(
          `INSERT INTO events (id, type, at, data, once) VALUES (?1, ?2, ?3, ?4, ?5)
           ON CONFLICT DO NOTHING RETURNING seq`,
        )
        .get(id, type, at, JSON.stringify(data), once);
      if (!added) return { isNew: false, crowded: [] };
      const crowded = webhooks.filter((webhook) => this.#queue(added.seq, webhook, at));
      if (added.seq % pruneEvery === 0) pruneEvents(this.#db, at);
      return { isNew: true, crowded };
    })();
  }

  /** True: an older delivery was abandoned for it. */
  #queue(seq: number, webhook: string, at: number): boolean {
    this.#db
      .query(
        `INSERT INTO deliveries (webhook, seq, state, attempts, due) VALUES (?1, ?2, 'waiting', 0, ?3)`,
      )
      .run(webhook, seq, at);
    return (
      this.#db
        .query(
          `UPDATE deliveries SET state = 'abandoned', problem = 'too many were waiting'
           WHERE webhook = ?1 AND state = 'waiting' AND seq <= (
             SELECT seq FROM deliveries WHERE webhook = ?1 AND state = 'waiting'
             ORDER BY seq DESC LIMIT 1 OFFSET ?2
           )`,
        )
        .run(webhook, this.#maxWaiting).changes > 0
    );
  }

  /** Newest first. Undefined: `after` is not the id of a stored event. */
  list({ after, types, limit }: EventQuery): readonly ListedEvent[] | undefined {
    const before = after === undefined ? Number.MAX_SAFE_INTEGER : this.#seqOf(after);
    if (before === undefined) return undefined;
    const among = types ? `AND type IN (${types.map(() => "?").join(", ")})` : "";
    const rows = this.#db
      .query<EventRow, (number | string)[]>(
        `SELECT seq, id, type, at, data FROM events WHERE seq < ? ${among} ORDER BY seq DESC LIMIT ?`,
      )
      .all(before, ...(types ?? []), limit);
    return rows.map((row) => ({ ...eventOf(row), deliveries: this.#deliveriesOf(row.seq) }));
  }

  #seqOf(id: string): number | undefined {
    return this.#db.query<{ seq: number }, [string]>("SELECT seq FROM events WHERE id = ?1").get(id)
      ?.seq;
  }

  #deliveriesOf(seq: number): readonly EventDelivery[] {
    return this.#db
      .query<EventDelivery, [number]>(
        `SELECT webhook, state, attempts, due, last_at AS lastAt, status, problem
         FROM deliveries WHERE seq = ?1 ORDER BY webhook`,
      )
      .all(seq);
  }

  /** A persistent position, to continue from after a restart. */
  mark(name: string): number | undefined {
    const row = this.#db.query<{ value: number }, [string]>(
      "SELECT value FROM marks WHERE name = ?1",
    );
    return row.get(name)?.value;
  }

  setMark(name: string, value: number): void {
    this.#db.query("INSERT OR REPLACE INTO marks (name, value) VALUES (?1, ?2)").run(name, value);
  }

  prune(now: number): void {
    pruneEvents(this.#db, now);
  }
}

export const eventOf = ({ id, type, at, data }: EventRow): StoredEvent => ({
  id,
  type,
  at,
  data: JSON.parse(data) as Readonly<Record<string, unknown>>,
});
