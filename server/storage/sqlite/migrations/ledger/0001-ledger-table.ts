/** The table of ledger rows. Also brings the tables of versions without numbered migrations to these columns. */
import type { Database } from "bun:sqlite";
import type { Migration } from "../../migrate.ts";

const columns = {
  request_id: "TEXT PRIMARY KEY",
  at: "INTEGER NOT NULL",
  endpoint: "TEXT NOT NULL",
  key_id: "TEXT NOT NULL",
  model: "TEXT",
  upstream: "TEXT",
  target_model: "TEXT",
  attempts: "INTEGER NOT NULL",
  status: "INTEGER NOT NULL",
  error: "TEXT",
  latency_ms: "REAL NOT NULL",
  input_tokens: "INTEGER",
  output_tokens: "INTEGER",
  images: "INTEGER",
  bytes_in: "INTEGER NOT NULL",
  bytes_out: "INTEGER NOT NULL",
  cached_inputs: "INTEGER",
  upstream_tokens: "INTEGER",
  cost: "REAL",
  steps: "TEXT",
  project: "TEXT",
  estimated_cost: "REAL",
} as const;

/** Columns that had another name in earlier versions: the old name, the present one. */
const renamed = [
  ["fault", "error"],
  ["known_inputs", "cached_inputs"],
  ["estimate", "estimated_cost"],
] as const;

/** Columns that ledgers of the first version lack. */
const later: ReadonlySet<string> = new Set([
  "cached_inputs",
  "upstream_tokens",
  "cost",
  "steps",
  "project",
  "estimated_cost",
]);

export const ledgerTable: Migration = {
  name: "0001-ledger-table",
  up: (db) => {
    const definitions = Object.entries(columns).map(([name, type]) => `${name} ${type}`);
    // Request ids begin with the time, so the primary key is the order of arrival.
    db.run(`CREATE TABLE IF NOT EXISTS ledger (${definitions.join(", ")}) WITHOUT ROWID`);
    renameColumns(db);
    addColumns(db);
  },
};

function renameColumns(db: Database): void {
  for (const [from, to] of renamed) {
    const present = columnsIn(db);
    if (present.has(from) && !present.has(to))
      db.run(`ALTER TABLE ledger RENAME COLUMN ${from} TO ${to}`);
  }
}

/** A table of another shape is left unchanged. */
function addColumns(db: Database): void {
  const present = columnsIn(db);
  const missing = Object.entries(columns).filter(([name]) => !present.has(name));
  if (missing.some(([name]) => !later.has(name))) return;
  for (const [name, type] of missing) db.run(`ALTER TABLE ledger ADD COLUMN ${name} ${type}`);
}

const columnsIn = (db: Database): Set<string> =>
  new Set(
    db
      .query<{ name: string }, []>("PRAGMA table_info(ledger)")
      .all()
      .map(({ name }) => name),
  );
