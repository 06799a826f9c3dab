/** Data folders of earlier versions: what is stored in them is found under its present name. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openEventFile } from "../../server/storage/event-file.ts";
import { EventStore } from "../../server/storage/events.ts";
import { orphanedJournals } from "../../server/storage/ledger-journal.ts";
import { migrateDataFolder } from "../../server/storage/migrate-folders.ts";
import { recoverReservations } from "../../server/storage/reservation-log.ts";
import { temporaryFolder } from "../harness.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";

describe("the event database of an earlier version", () => {
  const old = [
    ["target.strayed", { model: "m", upstream: "u", target_model: "t", why: "cosine 0.2" }],
    ["target.returned", { model: "m", upstream: "u", target_model: "t", why: "cosine 1" }],
    ["target.ejected", { upstream: "u", target_model: "t", why: "5 failures" }],
    ["key.created", { id: "k", name: "why", models: ["*"] }],
  ] as const;
  const expected = [
    ["target.drifted", { model: "m", upstream: "u", target_model: "t", reason: "cosine 0.2" }],
    ["target.realigned", { model: "m", upstream: "u", target_model: "t", reason: "cosine 1" }],
    ["target.ejected", { upstream: "u", target_model: "t", reason: "5 failures" }],
    ["key.created", { id: "k", name: "why", models: ["*"] }],
  ];

  test("is listed with the present event types and fields, and keeps its pending deliveries", () => {
    using folder = temporaryFolder();
    openEventFile(folder.path).close();
    using before = new Database(join(folder.path, "events.db"), { strict: true });
    for (const [at, [type, data]] of old.entries()) {
      before
        .query("INSERT INTO events (id, type, at, data) VALUES (?1, ?2, ?3, ?4)")
        .run(`evt_${at}`, type, at, JSON.stringify(data));
      before
        .query(
          "INSERT INTO deliveries (webhook, seq, state, attempts, due) VALUES ('w', ?1, 'waiting', 0, 0)",
        )
        .run(at + 1);
    }
    // The second opening finds nothing left to migrate.
    for (let opening = 0; opening < 2; opening++) {
      using db = openEventFile(folder.path);
      const listed = new EventStore(db).list({ limit: 10 })?.toReversed() ?? [];
      expect(listed.map(({ type, data }) => [type, data])).toEqual(expected);
      expect(listed.map(({ deliveries }) => deliveries.map(({ state }) => state))).toEqual(
        old.map(() => ["waiting"]),
      );
    }
  });
});

describe("stored images and responses of an earlier version", () => {
  test("are moved to the present folders", () => {
    using folder = temporaryFolder();
    for (const name of ["pictures", "answers"]) {
      mkdirSync(join(folder.path, name));
      writeFileSync(join(folder.path, name, "a"), name);
    }
    migrateDataFolder(folder.path);
    expect(readdirSync(folder.path).sort()).toEqual(["images", "responses"]);
    expect(readFileSync(join(folder.path, "images", "a"), "utf8")).toBe("pictures");
    expect(readFileSync(join(folder.path, "responses", "a"), "utf8")).toBe("answers");
  });

  test("are moved one by one if the present folder exists as well", () => {
    using folder = temporaryFolder();
    for (const name of ["pictures", "images"]) {
      mkdirSync(join(folder.path, name));
      writeFileSync(join(folder.path, name, `of-${name}`), name);
    }
    migrateDataFolder(folder.path);
    expect(readdirSync(join(folder.path, "images")).sort()).toEqual(["of-images", "of-pictures"]);
    expect(existsSync(join(folder.path, "pictures"))).toBe(false);
  });

  test("stop the start with a message that names both folders if they cannot be moved", () => {
    using folder = temporaryFolder();
    mkdirSync(join(folder.path, "pictures"));
    writeFileSync(join(folder.path, "pictures", "a"), "");
    writeFileSync(join(folder.path, "images"), "a file, not a folder");
    const [from, to] = [join(folder.path, "pictures"), join(folder.path, "images")];
    expect(() => migrateDataFolder(folder.path)).toThrow(`${from} of an earlier version`);
    expect(() => migrateDataFolder(folder.path)).toThrow(to);
    expect(readdirSync(from)).toEqual(["a"]);
  });
});

describe("journals of an earlier version", () => {
  test("named held-… are recovered as reservations", () => {
    using folder = temporaryFolder();
    const line = ["req_1", 1, "embeddings", "file:ci", "m", null, 0.04];
    writeFileSync(join(folder.path, "held-999999999-a.journal"), `${JSON.stringify(line)}\n`);
    expect(recoverReservations(folder.path)).toEqual({ requests: 1, unreadable: 0 });
    const rows = orphanedJournals(folder.path).flatMap((journal) => journal.rows);
    expect(rows).toMatchObject([{ requestId: "req_1", estimatedCost: 0.04 }]);
    expect(readdirSync(folder.path).filter((name) => name.startsWith("held-"))).toEqual([]);
  });

  test("that name the values of a row keep error, cached inputs and estimated cost", () => {
    using folder = temporaryFolder();
    const { error: _, cachedInputs: __, estimatedCost: ___, ...row } = ledgerRow(0);
    const named = { ...row, fault: "upstream_timeout", knownInputs: 7, estimate: 0.25 };
    const lines = [named, [named], null].map((line) => `${JSON.stringify(line)}\n`).join("");
    writeFileSync(join(folder.path, "ledger-999999999-a.journal"), lines);
    const [journal] = orphanedJournals(folder.path);
    const expected = {
      ...row,
      error: "upstream_timeout",
      cachedInputs: 7,
      estimatedCost: 0.25,
    };
    expect(journal?.rows).toEqual([expected, expected]);
    expect(journal?.unreadable).toBe(1);
  });
});
