/** The event store in PostgreSQL: each event and its webhook deliveries are written in one transaction (outbox). */
import type {
  EventDelivery,
  EventQuery,
  EventStore,
  ListedEvent,
  NewEvent,
  Recorded,
  StoredEvent,
} from "../ports/event-store.ts";
import { keepEventsMs, maxEvents } from "../sqlite/event-database.ts";
import { maxWaiting } from "../sqlite/event-store.ts";
import type { PostgresDatabase } from "./database.ts";
import { Parameters } from "./ledger-filter.ts";
import type { Queries } from "./queries.ts";

/** PostgreSQL's BIGINT is read as text. */
export interface EventRow {
  readonly seq: string;
  readonly id: string;
  readonly type: string;
  readonly at: string;
  readonly data: string;
}

interface DeliveryRow extends EventDelivery {
  readonly seq: string;
}

const pruneEvery = 64;

export class PostgresEventStore implements EventStore {
  readonly #db: PostgresDatabase;

  constructor(db: PostgresDatabase) {
    this.#db = db;
  }

  record(event: NewEvent, webhooks: readonly string[]): Promise<Recorded> {
    const { id, type, at, data, deduplicationKey = null } = event;
    return this.#db.transaction(async (db) => {
      const { rows } = await db.query<{ seq: string }>(
        `INSERT INTO vexel.events (id, type, at, data, once) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING RETURNING seq`,
        [id, type, at, JSON.stringify(data), deduplicationKey],
      );
      if (!rows[0]) return { isNew: false, overflowed: [] };
      const seq = Number(rows[0].seq);
      const overflowed: string[] = [];
      for (const webhook of webhooks) {
        if (await queueDelivery(db, seq, webhook, at)) overflowed.push(webhook);
      }
      if (seq % pruneEvery === 0) await pruneEvents(db, at);
      return { isNew: true, overflowed };
    });
  }

  async list({ after, types, limit }: EventQuery): Promise<readonly ListedEvent[] | undefined> {
    const parameters = new Parameters();
    const conditions = ["true"];
    if (after !== undefined) {
      const before = await this.#seqOf(after);
      if (before === undefined) return undefined;
      conditions.push(`seq < ${parameters.add(before)}`);
    }
    if (types) {
      const among = types.map((type) => parameters.add(type)).join(", ");
      conditions.push(types.length > 0 ? `type IN (${among})` : "false");
    }
    const { rows } = await this.#db.query<EventRow>(
      `SELECT * FROM vexel.events WHERE ${conditions.join(" AND ")}
       ORDER BY seq DESC LIMIT ${parameters.add(limit)}`,
      parameters.values,
    );
    const deliveries = await this.#deliveriesOf(rows);
    return rows.map((row) => ({ ...eventOf(row), deliveries: deliveries.get(row.seq) ?? [] }));
  }

  async mark(name: string): Promise<number | undefined> {
    const { rows } = await this.#db.query<{ value: string }>(
      "SELECT value FROM vexel.marks WHERE name = $1",
      [name],
    );
    return rows[0] && Number(rows[0].value);
  }

  async setMark(name: string, value: number): Promise<void> {
    await this.#db.query(
      `INSERT INTO vexel.marks (name, value) VALUES ($1, $2)
       ON CONFLICT (name) DO UPDATE SET value = $2`,
      [name, value],
    );
  }

  prune(now: number): Promise<void> {
    return pruneEvents(this.#db, now);
  }

  async #seqOf(id: string): Promise<string | undefined> {
    const { rows } = await this.#db.query<EventRow>("SELECT * FROM vexel.events WHERE id = $1", [
      id,
    ]);
    return rows[0]?.seq;
  }

  async #deliveriesOf(events: readonly EventRow[]): Promise<Map<string, EventDelivery[]>> {
    const byEvent = new Map<string, EventDelivery[]>();
    if (events.length === 0) return byEvent;
    const parameters = new Parameters();
    const among = events.map(({ seq }) => parameters.add(seq)).join(", ");
    const { rows } = await this.#db.query<DeliveryRow>(
      `SELECT seq, webhook, state, attempts, due, last_at AS "lastAt", status, problem
       FROM vexel.deliveries WHERE seq IN (${among}) ORDER BY webhook COLLATE "C"`,
      parameters.values,
    );
    for (const { seq, ...delivery } of rows) {
      byEvent.set(seq, [...(byEvent.get(seq) ?? []), delivery]);
    }
    return byEvent;
  }
}

/** True: an older delivery was abandoned for it. */
async function queueDelivery(
  db: Queries,
  seq: number,
  webhook: string,
  at: number,
): Promise<boolean> {
  await db.query(
    `INSERT INTO vexel.deliveries (webhook, seq, state, attempts, due)
     VALUES ($1, $2, 'waiting', 0, $3)`,
    [webhook, seq, at],
  );
  const { count } = await db.query(
    `UPDATE vexel.deliveries SET state = 'abandoned', problem = 'too many were waiting'
     WHERE webhook = $1 AND state = 'waiting' AND seq <= (
       SELECT seq FROM vexel.deliveries WHERE webhook = $1 AND state = 'waiting'
       ORDER BY seq DESC LIMIT 1 OFFSET $2
     )`,
    [webhook, maxWaiting],
  );
  return count > 0;
}

/** Deletes events that are too old or too many, with their deliveries. Numbers have gaps, so events are counted. */
async function pruneEvents(db: Queries, now: number): Promise<void> {
  await db.query(
    `DELETE FROM vexel.events WHERE seq <= greatest(
       coalesce((SELECT seq FROM vexel.events ORDER BY seq DESC LIMIT 1 OFFSET $2), 0),
       (SELECT coalesce(max(seq), 0) FROM vexel.events WHERE at < $1)
     )`,
    [now - keepEventsMs, maxEvents],
  );
}

export const eventOf = ({ id, type, at, data }: EventRow): StoredEvent => ({
  id,
  type,
  at: Number(at),
  data: JSON.parse(data) as Readonly<Record<string, unknown>>,
});
