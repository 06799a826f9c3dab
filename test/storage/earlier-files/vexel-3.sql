PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at INTEGER NOT NULL
  );
INSERT INTO schema_migrations VALUES(1,'0001-keys',1794817200000);
INSERT INTO schema_migrations VALUES(2,'0002-key-revisions',1794817200000);
INSERT INTO schema_migrations VALUES(3,'0003-config-entities',1794817200000);
CREATE TABLE keys (
        id         TEXT PRIMARY KEY,
        name       TEXT NOT NULL,
        hash       TEXT NOT NULL UNIQUE,
        hint       TEXT NOT NULL,
        models     TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        revoked_at INTEGER,
        settings   TEXT
      , created_revision INTEGER NOT NULL DEFAULT 0, revision INTEGER NOT NULL DEFAULT 0);
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
CREATE INDEX keys_by_revision ON keys (revision);
CREATE INDEX keys_by_creation ON keys (created_at, id);
CREATE INDEX keys_by_name ON keys (name);
COMMIT;
