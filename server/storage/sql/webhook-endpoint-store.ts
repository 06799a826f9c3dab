/** The webhook endpoints of clients in a SQL database, beside the queue of their deliveries. */
import type {
  StoredWebhookEndpoint,
  WebhookEndpointChanges,
  WebhookEndpointStore,
} from "../ports/webhook-endpoint-store.ts";
import {
  integerOrNull,
  Parameters,
  type SqlDatabase,
  type SqlInteger,
  type SqlValue,
} from "./database.ts";

interface EndpointRow {
  readonly id: string;
  readonly owner: string;
  readonly name: string;
  readonly url: string;
  readonly event_types: string;
  readonly secret: string;
  readonly hint: string;
  readonly previous_secret: string | null;
  readonly previous_until: SqlInteger | null;
  readonly created_at: SqlInteger;
  readonly updated_at: SqlInteger;
}

export const createWebhookEndpointStore = (db: SqlDatabase): WebhookEndpointStore => ({
  create: (endpoint, most) =>
    db.transaction(async (queries) => {
      const { rows } = await queries.query<{ count: SqlInteger }>(
        "SELECT count(*) AS count FROM vexel.webhook_endpoints WHERE owner = $1",
        [endpoint.owner],
      );
      if (Number(rows[0]?.count) >= most) return false;
      const parameters = new Parameters();
      const values = {
        id: endpoint.id,
        owner: endpoint.owner,
        created_at: endpoint.createdAt,
        ...columnsOf(endpoint),
      };
      await queries.query(
        `INSERT INTO vexel.webhook_endpoints (${Object.keys(values).join(", ")})
         VALUES (${Object.values(values)
           .map((value) => parameters.add(value))
           .join(", ")})`,
        parameters.values,
      );
      return true;
    }),

  async find(owner, id) {
    const { rows } = await db.query<EndpointRow>(
      "SELECT * FROM vexel.webhook_endpoints WHERE id = $1 AND owner = $2",
      [id, owner],
    );
    return rows[0] && endpointOf(rows[0]);
  },

  async list(owner, { after, limit }) {
    const parameters = new Parameters();
    const start = after === undefined ? "" : `AND id < ${parameters.add(after)}`;
    const { rows } = await db.query<EndpointRow>(
      `SELECT * FROM vexel.webhook_endpoints WHERE owner = ${parameters.add(owner)} ${start}
       ORDER BY id DESC LIMIT ${parameters.add(limit)}`,
      parameters.values,
    );
    return rows.map(endpointOf);
  },

  async update(owner, id, changes) {
    const parameters = new Parameters();
    const assignments = Object.entries(columnsOf(changes)).map(
      ([name, value]) => `${name} = ${parameters.add(value)}`,
    );
    const { rows } = await db.query<EndpointRow>(
      `UPDATE vexel.webhook_endpoints SET ${assignments.join(", ")}
       WHERE id = ${parameters.add(id)} AND owner = ${parameters.add(owner)} RETURNING *`,
      parameters.values,
    );
    return rows[0] && endpointOf(rows[0]);
  },

  remove: (owner, id) =>
    db.transaction(async (queries) => {
      const { count } = await queries.query(
        "DELETE FROM vexel.webhook_endpoints WHERE id = $1 AND owner = $2",
        [id, owner],
      );
      if (count === 0) return false;
      await queries.query(
        `UPDATE vexel.deliveries SET state = 'abandoned', problem = 'the endpoint was deleted'
         WHERE webhook = $1 AND state = 'waiting'`,
        [id],
      );
      return true;
    }),

  async all() {
    const { rows } = await db.query<EndpointRow>("SELECT * FROM vexel.webhook_endpoints");
    return rows.map(endpointOf);
  },

  async withPendingDeliveries() {
    const { rows } = await db.query<EndpointRow>(
      `SELECT * FROM vexel.webhook_endpoints AS endpoints WHERE EXISTS (
         SELECT 1 FROM vexel.deliveries WHERE webhook = endpoints.id AND state = 'waiting'
       )`,
    );
    return rows.map(endpointOf);
  },
});

/** The columns that can change. */
function columnsOf(changes: WebhookEndpointChanges): Record<string, SqlValue> {
  const { name, url, eventTypes, secret, hint, previousSecret, previousUntil, updatedAt } = changes;
  const columns: Record<string, SqlValue | undefined> = {
    name,
    url,
    event_types: eventTypes && JSON.stringify(eventTypes),
    secret,
    hint,
    previous_secret: previousSecret,
    previous_until: previousUntil,
    updated_at: updatedAt,
  };
  return Object.fromEntries(
    Object.entries(columns).filter((entry): entry is [string, SqlValue] => entry[1] !== undefined),
  );
}

const endpointOf = (row: EndpointRow): StoredWebhookEndpoint => ({
  id: row.id,
  owner: row.owner,
  name: row.name,
  url: row.url,
  eventTypes: JSON.parse(row.event_types) as string[],
  secret: row.secret,
  hint: row.hint,
  previousSecret: row.previous_secret,
  previousUntil: integerOrNull(row.previous_until),
  createdAt: Number(row.created_at),
  updatedAt: Number(row.updated_at),
});
