/**
 * Which alerts are firing, which rules are silenced, and which process evaluates the rules now, in a SQL database that
 * replicas share. A silence is a lease: a user holds the notifications of a rule until a time.
 */
import type { SqlDatabase, SqlInteger } from "./database.ts";

export interface StoredAlert {
  /** The name of the rule. */
  readonly name: string;
  readonly isFiring: boolean;
  /** Unix milliseconds: when it began to fire, or was resolved. 0: it has never fired. */
  readonly since: number;
  /**
   * Whether the event of the last change is recorded. `silenced`: it is, but the rule was silenced, so its receivers
   * know the state before it.
   */
  readonly announced: "no" | "yes" | "silenced";
  /** The data of the event of the last change. */
  readonly data: Readonly<Record<string, unknown>>;
  /** The latest values of the rule. */
  readonly values?: StoredValues;
}

export interface StoredValues {
  /** What was measured: the values of a rule that was changed are of no use for the new one. */
  readonly of: string;
  /** Unix milliseconds, and the value. Oldest first. `null`: too few requests to judge. */
  readonly points: readonly (readonly [at: number, value: number | null])[];
}

export interface Silence {
  /** The name of the rule. */
  readonly name: string;
  /** Unix milliseconds. */
  readonly until: number;
  readonly reason: string;
  /** The name of the user. */
  readonly by: string;
}

/** As they are stored. */
const announcedStates = ["no", "yes", "silenced"] as const;
const silencePrefix = "silence ";

interface Row {
  readonly name: string;
  readonly firing: SqlInteger;
  readonly since: SqlInteger;
  readonly announced: SqlInteger;
  readonly data: string;
}

interface LeaseRow {
  readonly name: string;
  readonly owner: string;
  readonly until: SqlInteger;
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
  async put({ name, isFiring, since, announced, data, values }: StoredAlert): Promise<void> {
    await db.query(
      `INSERT INTO vexel.alerts (name, firing, since, announced, data)
       VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (name) DO UPDATE SET firing = excluded.firing, since = excluded.since,
         announced = excluded.announced, data = excluded.data`,
      [
        name,
        Number(isFiring),
        since,
        announcedStates.indexOf(announced),
        JSON.stringify({ ...data, values }),
      ],
    );
  },

  async delete(name: string): Promise<void> {
    await db.query("DELETE FROM vexel.alerts WHERE name = $1", [name]);
  },

  /** Those that have ended, too. */
  async silences(): Promise<readonly Silence[]> {
    const { rows } = await db.query<LeaseRow>(
      "SELECT * FROM vexel.leases WHERE name LIKE $1 ORDER BY name",
      [`${silencePrefix}%`],
    );
    return rows.map(silenceOf);
  },

  /** Creates or replaces the silence of a rule. */
  async silence({ name, until, reason, by }: Silence): Promise<void> {
    await db.query(
      `INSERT INTO vexel.leases (name, owner, until) VALUES ($1, $2, $3)
       ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until`,
      [silencePrefix + name, JSON.stringify({ reason, by }), until],
    );
  },

  async endSilence(name: string): Promise<void> {
    await db.query("DELETE FROM vexel.leases WHERE name = $1", [silencePrefix + name]);
  },
});

export type AlertStore = ReturnType<typeof createAlertStore>;

const silenceOf = ({ name, owner, until }: LeaseRow): Silence => ({
  name: name.slice(silencePrefix.length),
  until: Number(until),
  ...(JSON.parse(owner) as Pick<Silence, "reason" | "by">),
});

function alertOf(row: Row): StoredAlert {
  const { values, ...data } = JSON.parse(row.data) as { readonly values?: StoredValues };
  return {
    name: row.name,
    isFiring: Number(row.firing) === 1,
    since: Number(row.since),
    announced: announcedStates[Number(row.announced)] ?? "no",
    data,
    ...(values && { values }),
  };
}
