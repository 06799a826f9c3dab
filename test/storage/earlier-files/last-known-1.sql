PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at INTEGER NOT NULL
  );
INSERT INTO schema_migrations VALUES(1,'0001-tables',1794817200000);
CREATE TABLE keys (id TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO keys VALUES('key_0000000000000001','{"id":"key_0000000000000001","name":"ci-1","hash":"1111111111111111111111111111111111111111111111111111111111111111","hint":"sk-vx-Ab1","models":["*"],"createdAt":1794817200001,"revokedAt":null,"project":"web"}');
INSERT INTO keys VALUES('key_0000000000000002','{"id":"key_0000000000000002","name":"größer – 大","hash":"2222222222222222222222222222222222222222222222222222222222222222","hint":"sk-vx-Ab2","models":["*"],"createdAt":1794817200002,"revokedAt":1794817260000}');
CREATE TABLE entities (json TEXT NOT NULL);
INSERT INTO entities VALUES('{"kind":"model","id":"small","value":{"targets":[]},"version":2,"createdAt":1794817200000,"updatedAt":1794817200001}');
INSERT INTO entities VALUES('{"kind":"upstream","id":"openai","value":{"provider":"openai"},"version":1,"createdAt":1794817200000,"updatedAt":1794817200000}');
CREATE TABLE revisions (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO revisions VALUES('config',2);
INSERT INTO revisions VALUES('keys',3);
COMMIT;
