/** The webhook endpoints that clients manage, in a SQL database. The signing secrets are encrypted. */
import {
  integerOrNull,
  Parameters,
  type SqlDatabase,
  type SqlInteger,
  type SqlValue,
} from "./database.ts";

export interface StoredWebhookEndpoint {
  readonly id: string;
  /** The project or the API key to which it belongs (`auth/owner.ts`). */
  readonly owner: string;
  readonly name: string;
  readonly url: string;
  readonly eventTypes: readonly string[];
  /** Encrypted. */
  readonly secret: string;
  /** The last characters of the secret. */
  readonly hint: string;
  /** The secret before the last rotation, encrypted, which signs too until `previousUntil`. */
  readonly previousSecret: string | null;
  readonly previousUntil: number | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

type WebhookEndpointChanges = Partial<Omit<StoredWebhookEndpoint, "id" | "owner" | "createdAt">>;

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

/** Every method rejects once the store is closed. */
export const createWebhookEndpointStore = (db: SqlDatabase) => ({
  /** False: the owner has `most` endpoints already. */
  create: (endpoint: StoredWebhookEndpoint, most: number): Promise<boolean> =>
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

  /** Undefined if it does not exist, or belongs to another owner. */
  async find(owner: string, id: string): Promise<StoredWebhookEndpoint | undefined> {
    const { rows } = await db.query<EndpointRow>(
      "SELECT * FROM vexel.webhook_endpoints WHERE id = $1 AND owner = $2",
      [id, owner],
    );
    return rows[0] && endpointOf(rows[0]);
  },

  /** Newest first. `after`: the id of the last endpoint of the page before. */
  async list(
    owner: string,
    { after, limit }: { readonly after?: string | undefined; readonly limit: number },
  ): Promise<readonly StoredWebhookEndpoint[]> {
    const parameters = new Parameters();
    const start = after === undefined ? "" : `AND id < ${parameters.add(after)}`;
    const { rows } = await db.query<EndpointRow>(
      `SELECT * FROM vexel.webhook_endpoints WHERE owner = ${parameters.add(owner)} ${start}
       ORDER BY id DESC LIMIT ${parameters.add(limit)}`,
      parameters.values,
    );
    return rows.map(endpointOf);
  },

  /** Undefined as for `find`. */
  async update(
    owner: string,
    id: string,
    changes: WebhookEndpointChanges,
  ): Promise<StoredWebhookEndpoint | undefined> {
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

  /** Deletes the endpoint, and abandons its pending deliveries. False: as `find`. */
  remove: (owner: string, id: string): Promise<boolean> =>
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

  /** The endpoints of all owners. */
  async all(): Promise<readonly StoredWebhookEndpoint[]> {
    const { rows } = await db.query<EndpointRow>("SELECT * FROM vexel.webhook_endpoints");
    return rows.map(endpointOf);
  },

  /** Endpoints with pending deliveries, of all owners. */
  async withPendingDeliveries(): Promise<readonly StoredWebhookEndpoint[]> {
    const { rows } = await db.query<EndpointRow>(
      `SELECT * FROM vexel.webhook_endpoints AS endpoints WHERE EXISTS (
         SELECT 1 FROM vexel.deliveries WHERE webhook = endpoints.id AND state = 'waiting'
       )`,
    );
    return rows.map(endpointOf);
  },
});

export type WebhookEndpointStore = ReturnType<typeof createWebhookEndpointStore>;

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
