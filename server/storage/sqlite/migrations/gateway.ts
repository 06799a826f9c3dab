/** The migrations of `vexel.db`, in order. A migration that was released is never changed: a new one is appended. */
import type { Migration } from "../migrate.ts";

const tables: Migration = {
  name: "0001-tables",
  statements: [
    `CREATE TABLE keys (
      id               TEXT PRIMARY KEY,
      name             TEXT NOT NULL,
      hash             TEXT NOT NULL UNIQUE,
      hint             TEXT NOT NULL,
      models           TEXT NOT NULL,
      settings         TEXT NOT NULL,
      created_at       INTEGER NOT NULL,
      revoked_at       INTEGER,
      created_revision INTEGER NOT NULL,
      revision         INTEGER NOT NULL
    )`,
    "CREATE INDEX keys_by_revision ON keys (revision)",
    "CREATE INDEX keys_by_creation ON keys (created_at, id)",
    "CREATE INDEX keys_by_name ON keys (name)",
    // Every change gets the next number, so that a running gateway reads only what changed.
    "CREATE TABLE revisions (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT INTO revisions (name, value) VALUES ('keys', 0), ('config', 0)",
    `CREATE TABLE config_entities (
      kind       TEXT NOT NULL,
      id         TEXT NOT NULL,
      value      TEXT NOT NULL,
      version    INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      PRIMARY KEY (kind, id)
    ) WITHOUT ROWID`,
    `CREATE TABLE users (
      id                   TEXT PRIMARY KEY,
      name                 TEXT NOT NULL UNIQUE COLLATE NOCASE,
      role                 TEXT NOT NULL,
      projects             TEXT,
      project_roles        TEXT,
      password_hash        TEXT,
      oidc_subject         TEXT UNIQUE,
      created_at           INTEGER NOT NULL,
      last_sign_in_at      INTEGER,
      disabled_at          INTEGER,
      must_change_password INTEGER NOT NULL,
      invite_hash          TEXT,
      invite_expires_at    INTEGER,
      totp_secret          TEXT,
      totp_step            INTEGER,
      recovery_codes       TEXT
    ) WITHOUT ROWID`,
    "CREATE UNIQUE INDEX users_by_invite ON users (invite_hash)",
    `CREATE TABLE sessions (
      token_hash   TEXT PRIMARY KEY,
      user_id      TEXT NOT NULL,
      csrf_token   TEXT NOT NULL,
      signed_in_at INTEGER NOT NULL,
      issued_at    INTEGER NOT NULL,
      last_seen_at INTEGER NOT NULL,
      replaced_at  INTEGER,
      id           TEXT NOT NULL,
      address      TEXT NOT NULL,
      user_agent   TEXT NOT NULL
    ) WITHOUT ROWID`,
    "CREATE INDEX sessions_by_user ON sessions (user_id)",
    `CREATE TABLE audit_log (
      id      TEXT PRIMARY KEY,
      at      INTEGER NOT NULL,
      actor   TEXT NOT NULL,
      action  TEXT NOT NULL,
      subject TEXT,
      before  TEXT NOT NULL,
      after   TEXT NOT NULL,
      address TEXT
    ) WITHOUT ROWID`,
    "CREATE INDEX audit_log_by_time ON audit_log (at)",
    `CREATE TABLE admin_tokens (
      id           TEXT PRIMARY KEY,
      user_id      TEXT NOT NULL,
      name         TEXT NOT NULL,
      token_hash   TEXT NOT NULL UNIQUE,
      hint         TEXT NOT NULL,
      created_at   INTEGER NOT NULL,
      expires_at   INTEGER NOT NULL,
      last_used_at INTEGER
    ) WITHOUT ROWID`,
    "CREATE INDEX admin_tokens_by_user ON admin_tokens (user_id)",
    `CREATE TABLE statements (
      project        TEXT NOT NULL,
      month          TEXT NOT NULL,
      created_at     INTEGER NOT NULL,
      requests       INTEGER NOT NULL,
      unpriced       INTEGER NOT NULL,
      cost           REAL NOT NULL,
      estimated_cost REAL NOT NULL,
      csv            TEXT NOT NULL,
      PRIMARY KEY (project, month)
    ) WITHOUT ROWID`,
  ],
};

export const gatewayMigrations: readonly Migration[] = [tables];
