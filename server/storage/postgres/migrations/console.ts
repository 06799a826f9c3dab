/** The console: its users, their sessions and tokens, and the audit log. */

export const consoleTables: readonly string[] = [
  `CREATE TABLE vexel.users (
    id              TEXT PRIMARY KEY,
    name            TEXT NOT NULL,
    role            TEXT NOT NULL,
    projects        TEXT,
    password_hash   TEXT,
    oidc_subject    TEXT UNIQUE,
    created_at      BIGINT NOT NULL,
    last_sign_in_at BIGINT
  )`,
  "CREATE UNIQUE INDEX users_by_name ON vexel.users (lower(name))",
  `CREATE TABLE vexel.sessions (
    token_hash   TEXT PRIMARY KEY,
    user_id      TEXT NOT NULL,
    csrf_token   TEXT NOT NULL,
    signed_in_at BIGINT NOT NULL,
    issued_at    BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    replaced_at  BIGINT
  )`,
  "CREATE INDEX sessions_by_user ON vexel.sessions (user_id)",
  `CREATE TABLE vexel.audit_log (
    id      TEXT COLLATE "C" PRIMARY KEY,
    at      BIGINT NOT NULL,
    actor   TEXT NOT NULL,
    action  TEXT NOT NULL,
    subject TEXT,
    before  TEXT NOT NULL,
    after   TEXT NOT NULL,
    address TEXT
  )`,
  "CREATE INDEX audit_log_by_time ON vexel.audit_log (at)",
];

/** Invitations, a second factor, disabled users, their own tokens of the admin API, and a list of their sessions. */
export const accountTables: readonly string[] = [
  `ALTER TABLE vexel.users
    ADD COLUMN disabled_at          BIGINT,
    ADD COLUMN must_change_password INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN invite_hash          TEXT UNIQUE,
    ADD COLUMN invite_expires_at    BIGINT,
    ADD COLUMN totp_secret          TEXT,
    ADD COLUMN totp_step            BIGINT,
    ADD COLUMN recovery_codes       TEXT`,
  // A session without an id could not be listed: its user signs in again.
  "DELETE FROM vexel.sessions",
  `ALTER TABLE vexel.sessions
    ADD COLUMN id         TEXT NOT NULL,
    ADD COLUMN address    TEXT NOT NULL,
    ADD COLUMN user_agent TEXT NOT NULL`,
  `CREATE TABLE vexel.admin_tokens (
    id           TEXT PRIMARY KEY,
    user_id      TEXT NOT NULL,
    name         TEXT NOT NULL,
    token_hash   TEXT NOT NULL UNIQUE,
    hint         TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    last_used_at BIGINT
  )`,
  "CREATE INDEX admin_tokens_by_user ON vexel.admin_tokens (user_id)",
];
