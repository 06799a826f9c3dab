PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE keys (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    hash       TEXT NOT NULL UNIQUE,
    hint       TEXT NOT NULL,
    models     TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    settings   TEXT
  );
INSERT INTO keys VALUES('key_0000000000000001','ci-1','227ba5f2c6c9109fe5c44a0696f393379607493a377f522ee27d9a7ae3227d89','sk-vx-Ab1','["text-embedding-3-small","gpt-image-1"]',1794817200001,NULL,'{"project":"web","expiresAt":1900000000000}');
INSERT INTO keys VALUES('key_0000000000000002','größer – 大','08f225fe08e94a5b1da2da4079fcd1a7647d375cc95624a6c6d65a6fc84b3243','sk-vx-Ab2','["*"]',1794817200002,1794817260000,'{}');
COMMIT;
