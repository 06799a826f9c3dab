/** The console: its users, their sessions and tokens, the audit log, and the statements of projects. */

export const consoleTables: readonly string[] = [
  `CREATE TABLE vexel.users (
    id                   TEXT PRIMARY KEY,
    name                 TEXT NOT NULL,
    role                 TEXT NOT NULL,
    projects             TEXT,
    project_roles        TEXT,
    password_hash        TEXT,
    oidc_subject         TEXT UNIQUE,
    created_at           BIGINT NOT NULL,
    last_sign_in_at      BIGINT,
    disabled_at          BIGINT,
    must_change_password INTEGER NOT NULL,
    invite_hash          TEXT UNIQUE,
    invite_expires_at    BIGINT,
    totp_secret          TEXT,
    totp_step            BIGINT,
    recovery_codes       TEXT
  )`,
  "CREATE UNIQUE INDEX users_by_name ON vexel.users (lower(name))",
  `CREATE TABLE vexel.sessions (
    token_hash   TEXT PRIMARY KEY,
    user_id      TEXT NOT NULL,
    csrf_token   TEXT NOT NULL,
    signed_in_at BIGINT NOT NULL,
    issued_at    BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    replaced_at  BIGINT,
    id           TEXT NOT NULL,
    address      TEXT NOT NULL,
    user_agent   TEXT NOT NULL
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
  `CREATE TABLE vexel.statements (
    project        TEXT NOT NULL,
    month          TEXT COLLATE "C" NOT NULL,
    created_at     BIGINT NOT NULL,
    requests       BIGINT NOT NULL,
    unpriced       BIGINT NOT NULL,
    cost           DOUBLE PRECISION NOT NULL,
    estimated_cost DOUBLE PRECISION NOT NULL,
    csv            TEXT NOT NULL,
    PRIMARY KEY (project, month)
  )`,
];
