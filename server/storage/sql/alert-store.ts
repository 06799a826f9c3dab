/** Which alerts are firing, and which process evaluates the rules now, in a SQL database that replicas share. */
import type { SqlDatabase, SqlInteger } from "./database.ts";

export interface StoredAlert {
  /** The name of the rule. */
  readonly name: string;
  readonly isFiring: boolean;
  /** Unix milliseconds: when it began to fire, or was resolved. */
  readonly since: number;
  /** The event of the last change is recorded. */
  readonly isAnnounced: boolean;
  /** The data of the event of the last change. */
  readonly data: Readonly<Record<string, unknown>>;
}

interface Row {
  readonly name: string;
  readonly firing: SqlInteger;
  readonly since: SqlInteger;
  readonly announced: SqlInteger;
  readonly data: string;
}

/** Every method rejects once the store is closed. */
export const createAlertStore = (db: SqlDatabase) => ({
  /** Takes or renews the lease of the evaluation. False: another process has it. Times: Unix milliseconds. */
  async claim(owner: string, now: number, until: number): Promise<boolean> {
    const { count } = await db.query(
      `INSERT INTO vexel.leases (name, owner, until) VALUES ('alerts', $1, $3)
       ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
       WHERE leases.owner = excluded.owner OR leases.until <= $2`,
      [owner, now, until],
    );
    return count > 0;
  },

  async list(): Promise<readonly StoredAlert[]> {
    const { rows } = await db.query<Row>("SELECT * FROM vexel.alerts ORDER BY name");
    return rows.map(alertOf);
  },

  /** Creates or replaces the state of an alert. */
  async put({ name, isFiring, since, isAnnounced, data }: StoredAlert): Promise<void> {
    await db.query(
      `INSERT INTO vexel.alerts (name, firing, since, announced, data)
       VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (name) DO UPDATE SET firing = excluded.firing, since = excluded.since,
         announced = excluded.announced, data = excluded.data`,
      [name, Number(isFiring), since, Number(isAnnounced), JSON.stringify(data)],
    );
  },

  async delete(name: string): Promise<void> {
    await db.query("DELETE FROM vexel.alerts WHERE name = $1", [name]);
  },
});

export type AlertStore = ReturnType<typeof createAlertStore>;

const alertOf = (row: Row): StoredAlert => ({
  name: row.name,
  isFiring: Number(row.firing) === 1,
  since: Number(row.since),
  isAnnounced: Number(row.announced) === 1,
  data: JSON.parse(row.data) as Record<string, unknown>,
});
