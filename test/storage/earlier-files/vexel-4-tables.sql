PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at INTEGER NOT NULL
  );
INSERT INTO schema_migrations VALUES(4,'0004-tables',1794817200000);
CREATE TABLE keys (
      id               TEXT PRIMARY KEY,
      name             TEXT NOT NULL,
      hash             TEXT NOT NULL UNIQUE,
      hint             TEXT NOT NULL,
      models           TEXT NOT NULL,
      created_at       INTEGER NOT NULL,
      revoked_at       INTEGER,
      settings         TEXT,
      created_revision INTEGER NOT NULL DEFAULT 0,
      revision         INTEGER NOT NULL DEFAULT 0
    );
INSERT INTO keys VALUES('key_0000000000000001','ci-1','227ba5f2c6c9109fe5c44a0696f393379607493a377f522ee27d9a7ae3227d89','sk-vx-Ab1','["text-embedding-3-small","gpt-image-1"]',1794817200001,NULL,'{"project":"web","expiresAt":1900000000000}',1,1);
INSERT INTO keys VALUES('key_0000000000000002','größer – 大','08f225fe08e94a5b1da2da4079fcd1a7647d375cc95624a6c6d65a6fc84b3243','sk-vx-Ab2','["*"]',1794817200002,1794817260000,'{}',2,3);
CREATE TABLE revisions (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO revisions VALUES('config',2);
INSERT INTO revisions VALUES('keys',3);
CREATE TABLE config_entities (
      kind       TEXT NOT NULL,
      id         TEXT NOT NULL,
      value      TEXT NOT NULL,
      version    INTEGER NOT NULL,
      created_at INTEGER NOT NULL,
      updated_at INTEGER NOT NULL,
      PRIMARY KEY (kind, id)
    ) WITHOUT ROWID;
INSERT INTO config_entities VALUES('model','small','{"targets":[{"upstream":"openai","model":"text-embedding-3-small"}]}',2,1794817200000,1794817200009);
INSERT INTO config_entities VALUES('upstream','openai','{"provider":"openai","apiKey":"enc:v1:AAAA"}',1,1794817200000,1794817200000);
CREATE TABLE users (
      id              TEXT PRIMARY KEY,
      name            TEXT NOT NULL UNIQUE COLLATE NOCASE,
      role            TEXT NOT NULL,
      projects        TEXT,
      password_hash   TEXT,
      oidc_subject    TEXT UNIQUE,
      created_at      INTEGER NOT NULL,
      last_sign_in_at INTEGER
    ) WITHOUT ROWID;
INSERT INTO users VALUES('user_1','Ada','admin',NULL,'$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA',NULL,1794817200000,1794817200005);
INSERT INTO users VALUES('user_2','grace','viewer','["web"]',NULL,'https://id.example|42',1794817200001,NULL);
CREATE TABLE sessions (
      token_hash   TEXT PRIMARY KEY,
      user_id      TEXT NOT NULL,
      csrf_token   TEXT NOT NULL,
      signed_in_at INTEGER NOT NULL,
      issued_at    INTEGER NOT NULL,
      last_seen_at INTEGER NOT NULL,
      replaced_at  INTEGER
    ) WITHOUT ROWID;
INSERT INTO sessions VALUES('4896d6e793e5777fb95ca2c6c10f86c30369da3d528f9fdbf03e2ade90a50c26','user_1','csrf-1',1794817200005,1794817200006,1794817200007,NULL);
CREATE TABLE audit_log (
      id      TEXT PRIMARY KEY,
      at      INTEGER NOT NULL,
      actor   TEXT NOT NULL,
      action  TEXT NOT NULL,
      subject TEXT,
      before  TEXT NOT NULL,
      after   TEXT NOT NULL,
      address TEXT
    ) WITHOUT ROWID;
INSERT INTO audit_log VALUES('audit_1',1794817200008,'Ada','key.create','key_0000000000000001','null','{"name":"ci-1"}','127.0.0.1');
CREATE INDEX keys_by_revision ON keys (revision);
CREATE INDEX keys_by_creation ON keys (created_at, id);
CREATE INDEX keys_by_name ON keys (name);
CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX audit_log_by_time ON audit_log (at);
COMMIT;
