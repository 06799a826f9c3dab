/** The console: its users, their sessions, and the audit log. */
import type { Migration } from "../../migrate.ts";

export const consoleTables: Migration = {
  name: "0004-console",
  up: (db) => {
    db.run(`
      CREATE TABLE users (
        id              TEXT PRIMARY KEY,
        name            TEXT NOT NULL UNIQUE COLLATE NOCASE,
        role            TEXT NOT NULL,
        projects        TEXT,
        password_hash   TEXT,
        oidc_subject    TEXT UNIQUE,
        created_at      INTEGER NOT NULL,
        last_sign_in_at INTEGER
      ) WITHOUT ROWID`);
    db.run(`
      CREATE TABLE sessions (
        token_hash   TEXT PRIMARY KEY,
        user_id      TEXT NOT NULL,
        csrf_token   TEXT NOT NULL,
        signed_in_at INTEGER NOT NULL,
        issued_at    INTEGER NOT NULL,
        last_seen_at INTEGER NOT NULL,
        replaced_at  INTEGER
      ) WITHOUT ROWID`);
    db.run("CREATE INDEX sessions_by_user ON sessions (user_id)");
    db.run(`
      CREATE TABLE audit_log (
        id      TEXT PRIMARY KEY,
        at      INTEGER NOT NULL,
        actor   TEXT NOT NULL,
        action  TEXT NOT NULL,
        subject TEXT,
        before  TEXT NOT NULL,
        after   TEXT NOT NULL,
        address TEXT
      ) WITHOUT ROWID`);
    db.run("CREATE INDEX audit_log_by_time ON audit_log (at)");
  },
};
