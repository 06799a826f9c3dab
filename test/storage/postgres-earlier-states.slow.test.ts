/**
 * Migrations of PostgreSQL from every earlier state, with rows of that state: all rows stay, and the schema is
 * complete.
 */
import { expect } from "bun:test";
import { SQL } from "bun";
import { PostgresDatabase } from "../../server/storage/postgres/database.ts";
import { postgresMigrations } from "../../server/storage/postgres/migrations/index.ts";
import { createEventStore } from "../../server/storage/sql/event-store.ts";
import { createKeyStore } from "../../server/storage/sql/key-store.ts";
import { closeAfterEach } from "../clean-up.ts";
import { beforeAllWith } from "../programs.ts";
import { sharedPostgres, testWithPostgres } from "./postgres-server.ts";

const closing = closeAfterEach();

/** Rows for every table, by the migration that creates it. */
const rowsOfMigration: Readonly<Record<string, readonly string[]>> = {
  "0001-keys-and-config": [
    `INSERT INTO vexel.keys VALUES
       ('key_1', 'ci', 'hash-1', 'sk-vx-Ab1', '["*"]', '{"project":"web"}', 1794817200001, NULL, 1, 1),
       ('key_2', 'größer – 大', 'hash-2', 'sk-vx-Ab2', '["small"]', '{}', 1794817200002, 1794817260000, 2, 3)`,
    "UPDATE vexel.revisions SET value = 3 WHERE name = 'keys'",
    `INSERT INTO vexel.config_entities VALUES
       ('model', 'small', '{"targets":[]}', 2, 1794817200000, 1794817200009)`,
  ],
  "0002-console": [
    `INSERT INTO vexel.users VALUES
       ('user_1', 'Ada', 'admin', NULL, '$argon2id$x', NULL, 1794817200000, 1794817200005),
       ('user_2', 'grace', 'viewer', '["web"]', NULL, 'https://id.example|42', 1794817200001, NULL)`,
    `INSERT INTO vexel.sessions VALUES
       ('token-1', 'user_1', 'csrf-1', 1794817200005, 1794817200006, 1794817200007, NULL)`,
    `INSERT INTO vexel.audit_log VALUES
       ('audit_1', 1794817200008, 'Ada', 'key.created', 'key_1', 'null', '{"name":"ci"}', '127.0.0.1')`,
  ],
  "0003-ledger": [
    `CREATE TABLE vexel.ledger_2026_11 PARTITION OF vexel.ledger
       FOR VALUES FROM (1793491200000) TO (1796083200000)`,
    `INSERT INTO vexel.ledger VALUES
       ('req_1', 1794817200000, 'embeddings', 'key_1', 'small', 'openai', 'text-embedding-3-small', 1, 200,
        NULL, 12.5, 8, NULL, NULL, 120, 6200, 0, 8, 0.25, NULL, 'web', NULL, 2, '[]'),
       ('req_2', 1794820800000, 'images/generations', 'key_1', NULL, NULL, NULL, 2, 502,
        'upstream_error', 1500, NULL, NULL, NULL, 120, 80, NULL, NULL, NULL, 'openai 502', NULL, 0.5, NULL, NULL)`,
    "INSERT INTO vexel.spent VALUES ('key', 'key_1', 'total', 0.75, 1794820800000)",
    `INSERT INTO vexel.usage_by_hour VALUES
       (1794816000000, 'key_1', 'web', 'small', 'openai', 'text-embedding-3-small', 'req_1', 'req_1',
        1, 0, 0, 0, 8, 0, 0, 0, 2, 0.25, 0, 12.5, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)`,
  ],
  "0004-events": [
    `INSERT INTO vexel.events (id, type, at, data, once) VALUES
       ('evt_1', 'key.created', 1794817200000, '{"id":"key_1"}', 'key:1'),
       ('evt_2', 'target.drifted', 1794817200001, '{"reason":"cosine 0.2"}', NULL)`,
    `INSERT INTO vexel.deliveries VALUES
       ('wh_ops', 1, 'delivered', 1, 1794817200004, 1794817200002, 204, NULL),
       ('wh_ops', 2, 'waiting', 2, 1794817200004.5, 1794817200003, 503, 'HTTP 503')`,
    "INSERT INTO vexel.marks VALUES ('keys', 1)",
  ],
  "0005-responses": [
    "INSERT INTO vexel.responses VALUES ('response_1', 3, 1794817200000)",
    "INSERT INTO vexel.response_chunks VALUES ('response_1', 0, '\\x00ff41')",
    `INSERT INTO vexel.response_names VALUES
       ('name_1', 'response_1', '{"status":200}', 1794817200000)`,
  ],
};

const sortedNames = `SELECT table_name AS name FROM information_schema.tables
  WHERE table_schema = 'vexel' AND table_name <> 'schema_migrations' ORDER BY 1`;

type Row = Readonly<Record<string, unknown>>;
const query = async (sql: SQL, statement: string): Promise<Row[]> => [
  ...((await sql.unsafe(statement)) as Row[]),
];

async function rowsOf(sql: SQL): Promise<Map<string, Row[]>> {
  const rows = new Map<string, Row[]>();
  for (const { name } of await query(sql, sortedNames))
    rows.set(String(name), await query(sql, `SELECT * FROM vexel.${name} ORDER BY 1, 2`));
  return rows;
}

/** Columns, constraints and indexes, without the partitions of months, which the ledger store creates. */
const schemaOf = async (sql: SQL): Promise<unknown[]> => [
  await query(
    sql,
    `SELECT table_name, column_name, ordinal_position, data_type, collation_name, is_nullable, column_default,
       is_identity FROM information_schema.columns
     WHERE table_schema = 'vexel' AND table_name NOT LIKE 'ledger\\_%' ORDER BY 1, 3`,
  ),
  await query(
    sql,
    `SELECT relname, conname, pg_get_constraintdef(pg_constraint.oid) AS definition
     FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid
     WHERE connamespace = 'vexel'::regnamespace AND relname NOT LIKE 'ledger\\_%' ORDER BY 1, 2`,
  ),
  await query(
    sql,
    `SELECT indexname, indexdef FROM pg_indexes
     WHERE schemaname = 'vexel' AND tablename NOT LIKE 'ledger\\_%' ORDER BY 1`,
  ),
  await query(sql, "SELECT number, name, requires FROM vexel.schema_migrations ORDER BY 1"),
];

async function migrate(url: string, count = postgresMigrations.length): Promise<PostgresDatabase> {
  const migrations = postgresMigrations.slice(0, count);
  const db = new PostgresDatabase({ url, now: () => 1, migrations, maxConnections: 1 });
  closing(db);
  await db.migrate();
  return db;
}

function connect(url: string): SQL {
  const sql = new SQL({ url, max: 1, connectionTimeout: 5 });
  closing(sql);
  return sql;
}

let expected: unknown[] = [];
beforeAllWith(["postgresql"], async () => {
  const url = await (await sharedPostgres()).createDatabase();
  const db = new PostgresDatabase({ url, now: () => 1, maxConnections: 1 });
  await db.migrate();
  await db.close();
  const sql = new SQL({ url, max: 1, connectionTimeout: 5 });
  expected = await schemaOf(sql);
  await sql.close();
});

for (const [at, { name }] of postgresMigrations.entries()) {
  testWithPostgres(
    `a database after ${name}, with rows, is migrated to the schema of a new one and keeps every row`,
    async () => {
      const url = await (await sharedPostgres()).createDatabase();
      await migrate(url, at + 1);
      const sql = connect(url);
      for (const earlier of postgresMigrations.slice(0, at + 1))
        for (const statement of rowsOfMigration[earlier.name] ?? []) await sql.unsafe(statement);
      const before = await rowsOf(sql);
      // A migration that adds a table adds rows for it to this test.
      for (const [table, rows] of before) expect([table, rows.length]).not.toEqual([table, 0]);

      const db = await migrate(url);
      const after = await rowsOf(sql);
      for (const [table, rows] of before) {
        expect(after.get(table)).toMatchObject(rows);
        expect(after.get(table)).toHaveLength(rows.length);
      }
      expect(await schemaOf(sql)).toEqual(expected);
      // The stores read what the earlier state wrote.
      const keys = await createKeyStore(db).list({ limit: 10 });
      expect(keys.entries.map((key) => [key.id, key.name, key.project])).toEqual(
        expect.arrayContaining([
          ["key_1", "ci", "web"],
          ["key_2", "größer – 大", undefined],
        ]),
      );
      const events = (await createEventStore(db).list({ limit: 10 })) ?? [];
      expect(events).toHaveLength(before.has("events") ? 2 : 0);
    },
  );
}
