PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_migrations (
    number     INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at INTEGER NOT NULL
  );
INSERT INTO schema_migrations VALUES(1,'0001-event-tables',0);
CREATE TABLE events (
    seq  INTEGER PRIMARY KEY AUTOINCREMENT,
    id   TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    at   INTEGER NOT NULL,
    data TEXT NOT NULL,
    once TEXT UNIQUE
  );
INSERT INTO events VALUES(1,'evt_1','key.created',1794817200000,'{"id":"key_0000000000000001","name":"größer – 大"}','key:1');
INSERT INTO events VALUES(2,'evt_2','target.drifted',1794817200001,'{"model":"small","upstream":"openai","reason":"cosine 0.2"}',NULL);
CREATE TABLE deliveries (
    webhook  TEXT NOT NULL,
    seq      INTEGER NOT NULL,
    state    TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    due      INTEGER NOT NULL,
    last_at  INTEGER,
    status   INTEGER,
    problem  TEXT,
    PRIMARY KEY (webhook, seq)
  ) WITHOUT ROWID;
INSERT INTO deliveries VALUES('wh_ops',1,'delivered',1,1794817200004,1794817200002,204,NULL);
INSERT INTO deliveries VALUES('wh_ops',2,'waiting',2,1794817200004,1794817200003,503,'HTTP 503');
INSERT INTO deliveries VALUES('wh_other',1,'given_up',8,1794817200005,1794817200005,NULL,'connection refused');
CREATE TABLE marks (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO marks VALUES('keys',1);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('events',2);
CREATE INDEX deliveries_due ON deliveries (webhook, due) WHERE state = 'waiting';
CREATE INDEX deliveries_line ON deliveries (webhook, seq) WHERE state = 'waiting';
CREATE INDEX deliveries_by_event ON deliveries (seq);
COMMIT;
