/** The event store in SQLite: each event and its webhook deliveries are written in one transaction (outbox). */
import type { Database } from "bun:sqlite";
import type {
  EventDelivery,
  EventQuery,
  EventStore,
  ListedEvent,
  NewEvent,
  Recorded,
  StoredEvent,
} from "../ports/event-store.ts";
import { pruneEvents } from "./event-database.ts";

/** The limit of pending deliveries per webhook. */
export const maxWaiting = 1000;
const pruneEvery = 64;

interface EventRow {
  seq: number;
  id: string;
  type: string;
  at: number;
  data: string;
}

export class SqliteEventStore implements EventStore {
  readonly #db: Database;
  readonly #maxWaiting: number;

  constructor(db: Database, most = maxWaiting) {
    this.#db = db;
    this.#maxWaiting = most;
  }

  /** Rejects with SQLite errors. */
  async record(event: NewEvent, webhooks: readonly string[]): Promise<Recorded> {
    return this.#db.transaction((): Recorded => {
      const { id, type, at, data, deduplicationKey = null } = event;
      const added = this.#db
        .query<{ seq: number }, [string, string, number, string, string | null]>(
          `INSERT INTO events (id, type, at, data, once) VALUES (?1, ?2, ?3, ?4, ?5)
           ON CONFLICT DO NOTHING RETURNING seq`,
        )
        .get(id, type, at, JSON.stringify(data), deduplicationKey);
      if (!added) return { isNew: false, overflowed: [] };
      const overflowed = webhooks.filter((webhook) => this.#queue(added.seq, webhook, at));
      if (added.seq % pruneEvery === 0) pruneEvents(this.#db, at);
      return { isNew: true, overflowed };
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

  async list({ after, types, limit }: EventQuery): Promise<readonly ListedEvent[] | undefined> {
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

  async mark(name: string): Promise<number | undefined> {
    const row = this.#db.query<{ value: number }, [string]>(
      "SELECT value FROM marks WHERE name = ?1",
    );
    return row.get(name)?.value;
  }

  async setMark(name: string, value: number): Promise<void> {
    this.#db.query("INSERT OR REPLACE INTO marks (name, value) VALUES (?1, ?2)").run(name, value);
  }

  async prune(now: number): Promise<void> {
    pruneEvents(this.#db, now);
  }
}

export const eventOf = ({ id, type, at, data }: EventRow): StoredEvent => ({
  id,
  type,
  at,
  data: JSON.parse(data) as Readonly<Record<string, unknown>>,
});
