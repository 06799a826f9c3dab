/** The state of alerts in a SQL database, beside the events that announce them. */
import type { AlertStore, StoredAlert } from "../ports/alert-store.ts";
import type { SqlDatabase, SqlInteger } from "./database.ts";

interface Row {
  readonly name: string;
  readonly firing: SqlInteger;
  readonly since: SqlInteger;
  readonly announced: SqlInteger;
  readonly data: string;
}

export const createAlertStore = (db: SqlDatabase): AlertStore => ({
  async claim(owner, now, until) {
    const { count } = await db.query(
      `INSERT INTO vexel.leases (name, owner, until) VALUES ('alerts', $1, $3)
       ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until
       WHERE leases.owner = excluded.owner OR leases.until <= $2`,
      [owner, now, until],
    );
    return count > 0;
  },

  async list() {
    const { rows } = await db.query<Row>("SELECT * FROM vexel.alerts ORDER BY name");
    return rows.map(alertOf);
  },

  async put({ name, isFiring, since, isAnnounced, data }) {
    await db.query(
      `INSERT INTO vexel.alerts (name, firing, since, announced, data)
       VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (name) DO UPDATE SET firing = excluded.firing, since = excluded.since,
         announced = excluded.announced, data = excluded.data`,
      [name, Number(isFiring), since, Number(isAnnounced), JSON.stringify(data)],
    );
  },

  async delete(name) {
    await db.query("DELETE FROM vexel.alerts WHERE name = $1", [name]);
  },
});

const alertOf = (row: Row): StoredAlert => ({
  name: row.name,
  isFiring: Number(row.firing) === 1,
  since: Number(row.since),
  isAnnounced: Number(row.announced) === 1,
  data: JSON.parse(row.data) as Record<string, unknown>,
});
