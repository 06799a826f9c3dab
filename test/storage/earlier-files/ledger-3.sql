PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at INTEGER NOT NULL
  );
INSERT INTO schema_migrations VALUES(1,'0001-ledger-table',1794817200000);
INSERT INTO schema_migrations VALUES(2,'0002-spend-table',1794817200000);
INSERT INTO schema_migrations VALUES(3,'0003-usage-by-hour',1794817200000);
CREATE TABLE ledger (request_id TEXT PRIMARY KEY, at INTEGER NOT NULL, endpoint TEXT NOT NULL, key_id TEXT NOT NULL, model TEXT, upstream TEXT, target_model TEXT, attempts INTEGER NOT NULL, status INTEGER NOT NULL, error TEXT, latency_ms REAL NOT NULL, input_tokens INTEGER, output_tokens INTEGER, images INTEGER, bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL, cached_inputs INTEGER, upstream_tokens INTEGER, cost REAL, steps TEXT, project TEXT, estimated_cost REAL) WITHOUT ROWID;
INSERT INTO ledger VALUES('req_01a1e3710f8000000000000000000000',1794817200000,'embeddings','key_0000000000000001','small','openai','text-embedding-3-small',1,200,NULL,12.5,8,NULL,NULL,120,6200,0,8,0.25,NULL,'web',NULL);
INSERT INTO ledger VALUES('req_01a1e3a7fe0000000000000000000001',1794820800000,'images/generations','key_0000000000000001','größer – 大','openai','text-embedding-3-small',2,502,'upstream_error',1500.0,NULL,NULL,NULL,120,6200,NULL,NULL,NULL,'openai 502','web',0.5);
INSERT INTO ledger VALUES('req_01a1e9e1028000000000000000000030',1794925200000,'images/generations','file:ci','gpt-image-1','openai','gpt-image-1',1,200,NULL,70000.0,8,1056,1,120,6200,NULL,8,0.125,NULL,NULL,NULL);
CREATE TABLE spent (
  scope   TEXT NOT NULL,
  id      TEXT NOT NULL,
  period  TEXT NOT NULL,
  dollars REAL NOT NULL,
  PRIMARY KEY (scope, id, period)
) WITHOUT ROWID;
INSERT INTO spent VALUES('key','file:ci','2026-11',0.125);
INSERT INTO spent VALUES('key','file:ci','2026-11-17',0.125);
INSERT INTO spent VALUES('key','file:ci','total',0.125);
INSERT INTO spent VALUES('key','key_0000000000000001','2026-11',0.75);
INSERT INTO spent VALUES('key','key_0000000000000001','2026-11-16',0.75);
INSERT INTO spent VALUES('key','key_0000000000000001','total',0.75);
INSERT INTO spent VALUES('project','web','2026-11',0.75);
INSERT INTO spent VALUES('project','web','2026-11-16',0.75);
INSERT INTO spent VALUES('project','web','total',0.75);
CREATE TABLE usage_by_hour (
  hour            INTEGER NOT NULL,
  key_id          TEXT NOT NULL,
  project         TEXT NOT NULL,
  model           TEXT NOT NULL,
  upstream        TEXT NOT NULL,
  target_model    TEXT NOT NULL,
  first_id        TEXT NOT NULL,
  last_id         TEXT NOT NULL,
  requests        INTEGER NOT NULL,
  errors          INTEGER NOT NULL,
  unmetered       INTEGER NOT NULL,
  unpriced        INTEGER NOT NULL,
  input_tokens    INTEGER NOT NULL,
  output_tokens   INTEGER NOT NULL,
  images          INTEGER NOT NULL,
  cached_inputs   INTEGER NOT NULL,
  cost            REAL NOT NULL,
  estimated_cost  REAL NOT NULL,
  latency_ms      REAL NOT NULL,
  latency_0 INTEGER NOT NULL, latency_1 INTEGER NOT NULL, latency_2 INTEGER NOT NULL, latency_3 INTEGER NOT NULL, latency_4 INTEGER NOT NULL, latency_5 INTEGER NOT NULL, latency_6 INTEGER NOT NULL, latency_7 INTEGER NOT NULL, latency_8 INTEGER NOT NULL, latency_9 INTEGER NOT NULL, latency_10 INTEGER NOT NULL, latency_11 INTEGER NOT NULL, latency_12 INTEGER NOT NULL,
  PRIMARY KEY (hour, key_id, project, model, upstream, target_model)
) WITHOUT ROWID;
INSERT INTO usage_by_hour VALUES(1794816000000,'key_0000000000000001','web','small','openai','text-embedding-3-small','req_01a1e3710f8000000000000000000000','req_01a1e3710f8000000000000000000000',1,0,0,0,8,0,0,0,0.25,0.0,12.5,0,1,0,0,0,0,0,0,0,0,0,0,0);
INSERT INTO usage_by_hour VALUES(1794819600000,'key_0000000000000001','web','größer – 大','openai','text-embedding-3-small','req_01a1e3a7fe0000000000000000000001','req_01a1e3a7fe0000000000000000000001',1,1,0,0,0,0,0,0,0.0,0.5,1500.0,0,0,0,0,0,0,0,1,0,0,0,0,0);
INSERT INTO usage_by_hour VALUES(1794924000000,'file:ci','','gpt-image-1','openai','gpt-image-1','req_01a1e9e1028000000000000000000030','req_01a1e9e1028000000000000000000030',1,0,0,0,8,1056,1,0,0.125,0.0,70000.0,0,0,0,0,0,0,0,0,0,0,0,0,1);
CREATE INDEX usage_by_key_id ON usage_by_hour (key_id, hour);
CREATE INDEX usage_by_project ON usage_by_hour (project, hour);
CREATE INDEX usage_by_model ON usage_by_hour (model, hour);
CREATE INDEX usage_by_upstream ON usage_by_hour (upstream, hour);
COMMIT;
