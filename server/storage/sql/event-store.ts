/**
 * Events in a SQL database, bounded by count and age. Each event and its webhook deliveries are written in one
 * transaction (outbox).
 */
import { Parameters, type Queries, type SqlDatabase, type SqlInteger } from "./database.ts";

export interface StoredEvent {
  readonly id: string;
  readonly type: string;
  /** Unix milliseconds. */
  readonly at: number;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface NewEvent extends StoredEvent {
  /** An event with the same key is not recorded again. The column is `once`. */
  readonly deduplicationKey?: string;
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

interface EventQuery {
  /** Cursor: the id of the last event of the previous page. */
  readonly after?: string | undefined;
  /** Absent: all types. */
  readonly types?: readonly string[] | undefined;
  readonly limit: number;
}

interface Recorded {
  /** False: it was a duplicate. */
  readonly isNew: boolean;
  /** Webhooks whose oldest delivery was abandoned because too many were pending. */
  readonly overflowed: readonly string[];
}

/** The limits of stored events: count and age. */
const maxEvents = 10_000;
const keepEventsMs = 30 * 86_400_000;
/** The limit of pending deliveries per webhook. */
const maxWaitingDeliveries = 1000;
const pruneEvery = 64;
/** Events that are deleted at a time, with their deliveries: more than are recorded between two times. */
const maxPruned = 100;

export interface EventRow {
  readonly seq: SqlInteger;
  readonly id: string;
  readonly type: string;
  readonly at: SqlInteger;
  readonly data: string;
}

interface DeliveryRow extends EventDelivery {
  readonly seq: SqlInteger;
}

/** Every method rejects once the store is closed. */
export const createEventStore = (db: SqlDatabase, most = maxWaitingDeliveries) => ({
  /** Stores an event and a pending delivery for each webhook: all or nothing. */
  record: (
    { id, type, at, data, deduplicationKey }: NewEvent,
    webhooks: readonly string[],
  ): Promise<Recorded> =>
    db.transaction(async (queries) => {
      const { rows } = await queries.query<{ seq: SqlInteger }>(
        `INSERT INTO vexel.events (id, type, at, data, once) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING RETURNING seq`,
        [id, type, at, JSON.stringify(data), deduplicationKey ?? null],
      );
      if (!rows[0]) return { isNew: false, overflowed: [] };
      const seq = Number(rows[0].seq);
      const overflowed: string[] = [];
      for (const webhook of webhooks) {
        if (await queueDelivery(queries, { seq, webhook, at, most })) overflowed.push(webhook);
      }
      // By number only: the clock of one replica does not decide the age of events.
      if (seq % pruneEvery === 0) await pruneEvents(queries, 0);
      return { isNew: true, overflowed };
    }),

  /** Newest first. Undefined: `after` is not the id of a stored event. */
  async list({ after, types, limit }: EventQuery): Promise<readonly ListedEvent[] | undefined> {
    const parameters = new Parameters();
    const conditions = ["true"];
    if (after !== undefined) {
      const { rows } = await db.query<EventRow>("SELECT seq FROM vexel.events WHERE id = $1", [
        after,
      ]);
      if (!rows[0]) return undefined;
      conditions.push(`seq < ${parameters.add(rows[0].seq)}`);
    }
    if (types) conditions.push(parameters.among("type", types));
    const { rows } = await db.query<EventRow>(
      `SELECT * FROM vexel.events WHERE ${conditions.join(" AND ")}
       ORDER BY seq DESC LIMIT ${parameters.add(limit)}`,
      parameters.values,
    );
    const deliveries = await deliveriesOf(db, rows);
    return rows.map((row) => ({ ...eventOf(row), deliveries: deliveries.get(row.seq) ?? [] }));
  },

  /** A persistent position, to continue from after a restart. */
  async mark(name: string): Promise<number | undefined> {
    const { rows } = await db.query<{ value: SqlInteger }>(
      "SELECT value FROM vexel.marks WHERE name = $1",
      [name],
    );
    return rows[0] && Number(rows[0].value);
  },

  async setMark(name: string, value: number): Promise<void> {
    await db.query(
      `INSERT INTO vexel.marks (name, value) VALUES ($1, $2)
       ON CONFLICT (name) DO UPDATE SET value = $2`,
      [name, value],
    );
  },

  /** Deletes some of the events that are too old or too many, with their deliveries. `now`: Unix milliseconds. */
  prune: (now: number): Promise<void> => db.transaction((queries) => pruneEvents(queries, now)),
});

export type EventStore = ReturnType<typeof createEventStore>;

interface NewDelivery {
  readonly seq: number;
  readonly webhook: string;
  readonly at: number;
  /** The limit of pending deliveries. */
  readonly most: number;
}

/** True: an older delivery was abandoned for it. */
async function queueDelivery(
  db: Queries,
  { seq, webhook, at, most }: NewDelivery,
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
    [webhook, most],
  );
  return count > 0;
}

/**
 * Deletes the oldest events that are too old or too many, with their deliveries. Numbers have gaps, so events are
 * counted.
 */
async function pruneEvents(db: Queries, now: number): Promise<void> {
  const { rows } = await db.query<{ seq: SqlInteger | null }>(
    `SELECT max(seq) AS seq FROM (SELECT seq, at FROM vexel.events ORDER BY seq LIMIT $3) AS oldest
     WHERE at < $1
       OR seq <= (SELECT seq FROM vexel.events ORDER BY seq DESC LIMIT 1 OFFSET $2)`,
    [now - keepEventsMs, maxEvents, maxPruned],
  );
  const last = rows[0]?.seq ?? null;
  if (last === null) return;
  await db.query("DELETE FROM vexel.deliveries WHERE seq <= $1", [last]);
  await db.query("DELETE FROM vexel.events WHERE seq <= $1", [last]);
}

async function deliveriesOf(
  db: Queries,
  events: readonly EventRow[],
): Promise<Map<SqlInteger, EventDelivery[]>> {
  const byEvent = new Map<SqlInteger, EventDelivery[]>(events.map(({ seq }) => [seq, []]));
  const parameters = new Parameters();
  const { rows } = await db.query<DeliveryRow>(
    `SELECT seq, webhook, state, attempts, due, last_at AS "lastAt", status, problem
     FROM vexel.deliveries WHERE ${parameters.among("seq", [...byEvent.keys()])}`,
    parameters.values,
  );
  // Sorted here, by bytes: the order of text in PostgreSQL depends on the locale of the database.
  for (const { seq, ...delivery } of rows.toSorted((a, b) => (a.webhook < b.webhook ? -1 : 1))) {
    byEvent.get(seq)?.push(delivery);
  }
  return byEvent;
}

export const eventOf = ({ id, type, at, data }: EventRow): StoredEvent => ({
  id,
  type,
  at: Number(at),
  data: JSON.parse(data) as Readonly<Record<string, unknown>>,
});
