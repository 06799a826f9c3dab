/**
 * Events in a SQL database, bounded by age, and by count for each owner: the events of one owner never delete those of
 * another. Each event and its webhook deliveries are written in one transaction (outbox).
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
  /** The owner of the job that the event is about (`auth/owner.ts`). If absent, it is an event of the operator. */
  readonly owner?: string;
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
  /** The default is all types. */
  readonly types?: readonly string[] | undefined;
  /** Only events whose data has one of these texts, as JSON. */
  readonly texts?: readonly string[] | undefined;
  readonly limit: number;
}

export interface RecordedEvent {
  readonly event: NewEvent;
  /** The ids of the webhooks that receive the event. */
  readonly webhooks: readonly string[];
}

/** A statement has at most 32,766 parameters in SQLite: three for each delivery. */
export const maxRecordedAtOnce = 250;

interface RecordedEvents {
  /** Of the events that are not duplicates. */
  readonly ids: readonly string[];
  readonly overflowed: readonly string[];
}

interface Recorded {
  /** False: it was a duplicate. */
  readonly isNew: boolean;
  /** Webhooks whose oldest delivery was abandoned because too many were pending. */
  readonly overflowed: readonly string[];
}

interface EventLimits {
  /** The most pending deliveries of a webhook. */
  readonly maxWaiting: number;
  /**
   * The newest events that are kept of the operator, and of each other owner. Events with pending deliveries are too.
   */
  readonly operatorShare: number;
  readonly ownerShare: number;
}

const defaultLimits: EventLimits = {
  maxWaiting: 10_000,
  operatorShare: 10_000,
  ownerShare: 1000,
};

const eventRetentionMs = 30 * 86_400_000;
/** Events that are deleted in one transaction, with their deliveries. */
const maxPruned = 100;
/** In the column `owner`. Other owners begin with `key:` or `project:`. */
const operator = "operator";

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
export function createEventStore(db: SqlDatabase, limits: Partial<EventLimits> = {}) {
  const { maxWaiting: most, operatorShare, ownerShare } = { ...defaultLimits, ...limits };
  /** Owners with new events, whose events `prune` counts. Others have no more events than before. */
  const uncounted = new Set<string>();

  const recordAll = async (events: readonly RecordedEvent[]): Promise<RecordedEvents> => {
    const recorded = await db.transaction(async (queries) => {
      const rows = await insertEvents(queries, events);
      const webhooksOf = new Map(events.map(({ event, webhooks }) => [event.id, webhooks]));
      const deliveries = rows.flatMap(({ seq, id, at }) =>
        (webhooksOf.get(id) ?? []).map((webhook) => ({ webhook, seq, at })),
      );
      return { ids: rows.map(({ id }) => id), overflowed: await queue(queries, deliveries, most) };
    });
    const isNew = new Set(recorded.ids);
    for (const { event } of events) {
      if (isNew.has(event.id)) uncounted.add(event.owner ?? operator);
    }
    return recorded;
  };

  return {
    /**
     * Stores events, in their order, and a pending delivery for each of their webhooks: all or nothing. At most
     * `maxRecordedAtOnce`.
     */
    recordAll,

    /** Stores one event. */
    async record(event: NewEvent, webhooks: readonly string[]): Promise<Recorded> {
      const { ids, overflowed } = await recordAll([{ event, webhooks }]);
      return { isNew: ids.length > 0, overflowed };
    },

    /** Newest first. Undefined if `after` is not the id of a stored event. */
    async list({
      after,
      types,
      texts,
      limit,
    }: EventQuery): Promise<readonly ListedEvent[] | undefined> {
      const parameters = new Parameters();
      const conditions = ["true"];
      if (after !== undefined) {
        const { rows } = await db.query<EventRow>("SELECT seq FROM vexel.events WHERE id = $1", [
          after,
        ]);
        if (!rows[0]) return undefined;
        conditions.push(`seq < ${parameters.add(rows[0].seq)}`);
      }
      if (types) conditions.push(parameters.inList("type", types));
      if (texts) {
        // Unlike LIKE, it respects case in both databases, and no character is special.
        const found = texts.map((text) => `replace(data, ${parameters.add(text)}, '') <> data`);
        conditions.push(`(${found.join(" OR ")})`);
      }
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

    /**
     * Deletes some events with their deliveries: those that are too old, or else those of one owner that has more than
     * its share. Pending deliveries are deleted with events that are too old only. Returns whether there may be more to
     * delete. `now`: Unix milliseconds.
     */
    async prune(now: number): Promise<boolean> {
      const aged = await db.transaction((queries) => deleteAged(queries, now - eventRetentionMs));
      if (aged > 0) return true;
      const [owner] = uncounted;
      if (owner === undefined) return false;
      // Before the query: an event that is recorded meanwhile adds it again.
      uncounted.delete(owner);
      const share = owner === operator ? operatorShare : ownerShare;
      const deleted = await db.transaction((queries) => deleteExcess(db, queries, owner, share));
      if (deleted === maxPruned) uncounted.add(owner);
      return deleted > 0 || uncounted.size > 0;
    },
  };
}

export type EventStore = ReturnType<typeof createEventStore>;

/** Returns the events that are not duplicates. */
async function insertEvents(
  db: Queries,
  events: readonly RecordedEvent[],
): Promise<readonly Pick<EventRow, "seq" | "id" | "at">[]> {
  const parameters = new Parameters();
  const rows = events.map(({ event }) => {
    const { id, type, at, data, deduplicationKey = null, owner = operator } = event;
    const values = [id, owner, type, at, JSON.stringify(data), deduplicationKey];
    return `(${values.map((value) => parameters.add(value)).join(", ")})`;
  });
  const { rows: inserted } = await db.query<EventRow>(
    `INSERT INTO vexel.events (id, owner, type, at, data, once) VALUES ${rows.join(", ")}
     ON CONFLICT DO NOTHING RETURNING seq, id, at`,
    parameters.values,
  );
  return inserted;
}

interface NewDelivery {
  readonly seq: SqlInteger;
  readonly webhook: string;
  readonly at: SqlInteger;
}

/** `most`: pending deliveries of a webhook. Returns the webhook of each older delivery that was abandoned. */
async function queue(
  db: Queries,
  deliveries: readonly NewDelivery[],
  most: number,
): Promise<readonly string[]> {
  if (deliveries.length === 0) return [];
  const parameters = new Parameters();
  const rows = deliveries.map(
    ({ webhook, seq, at }) =>
      `(${parameters.add(webhook)}, ${parameters.add(seq)}, 'waiting', 0, ${parameters.add(at)})`,
  );
  await db.query(
    `INSERT INTO vexel.deliveries (webhook, seq, state, attempts, due) VALUES ${rows.join(", ")}`,
    parameters.values,
  );
  const overflowed: string[] = [];
  for (const webhook of new Set(deliveries.map((each) => each.webhook))) {
    const { count } = await db.query(
      `UPDATE vexel.deliveries SET state = 'abandoned', problem = 'too many were waiting'
       WHERE webhook = $1 AND state = 'waiting' AND seq <= (
         SELECT seq FROM vexel.deliveries WHERE webhook = $1 AND state = 'waiting'
         ORDER BY seq DESC LIMIT 1 OFFSET $2
       )`,
      [webhook, most],
    );
    for (let at = 0; at < count; at++) overflowed.push(webhook);
  }
  return overflowed;
}

/** The oldest events that are too old. Returns how many. */
async function deleteAged(db: Queries, before: number): Promise<number> {
  const { rows } = await db.query<{ seq: SqlInteger | null }>(
    `SELECT max(seq) AS seq FROM (SELECT seq, at FROM vexel.events ORDER BY seq LIMIT $2) AS oldest
     WHERE at < $1`,
    [before, maxPruned],
  );
  const last = rows[0]?.seq ?? null;
  if (last === null) return 0;
  await db.query("DELETE FROM vexel.deliveries WHERE seq <= $1", [last]);
  const { count } = await db.query("DELETE FROM vexel.events WHERE seq <= $1", [last]);
  return count;
}

/** The oldest events of an owner beyond the newest `share`, without those with a pending delivery. Returns how many. */
async function deleteExcess(
  db: SqlDatabase,
  queries: Queries,
  owner: string,
  share: number,
): Promise<number> {
  const { rows } = await queries.query<{ seq: SqlInteger }>(
    `SELECT seq FROM vexel.events
     WHERE owner = $1
       AND seq <= (
         SELECT seq FROM vexel.events WHERE owner = $1 ORDER BY seq DESC LIMIT 1 OFFSET $2
       )
       AND NOT EXISTS (
         SELECT 1 FROM vexel.deliveries WHERE deliveries.seq = events.seq AND state = 'waiting'
       )
     ORDER BY seq LIMIT $3 ${db.lockRows}`,
    [owner, share, maxPruned],
  );
  if (rows.length === 0) return 0;
  for (const table of ["deliveries", "events"]) {
    const parameters = new Parameters();
    await queries.query(
      `DELETE FROM vexel.${table} WHERE ${parameters.inList(
        "seq",
        rows.map(({ seq }) => seq),
      )}`,
      parameters.values,
    );
  }
  return rows.length;
}

async function deliveriesOf(
  db: Queries,
  events: readonly EventRow[],
): Promise<Map<SqlInteger, EventDelivery[]>> {
  const byEvent = new Map<SqlInteger, EventDelivery[]>(events.map(({ seq }) => [seq, []]));
  const parameters = new Parameters();
  const { rows } = await db.query<DeliveryRow>(
    `SELECT seq, webhook, state, attempts, due, last_at AS "lastAt", status, problem
     FROM vexel.deliveries WHERE ${parameters.inList("seq", [...byEvent.keys()])}`,
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
