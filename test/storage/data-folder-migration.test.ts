/** Migration of data folders of earlier versions: their files, databases and journals work under the present names. */
import { Database } from "bun:sqlite";
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { migrateDataFolder } from "../../server/storage/files/migrate-folders.ts";
import { OutboxRecovery } from "../../server/storage/files/outbox-recovery.ts";
import type { LedgerRow } from "../../server/storage/ports/ledger-row.ts";
import { createEventStore } from "../../server/storage/sql/event-store.ts";
import { openEventFile } from "../../server/storage/sqlite/event-database.ts";
import { SqliteLedgerStore } from "../../server/storage/sqlite/ledger-store.ts";
import { SqliteDatabase } from "../../server/storage/sqlite/sqlite-database.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, post, readLedger, startGateway, temporaryFolder } from "../harness.ts";
import { ledgerRow } from "../ledger/ledger-fixture.ts";
import { until } from "../until.ts";

const fake = startFake();
const folders: Disposable[] = [];
beforeEach(() => fake.clear());
afterAll(() => {
  fake.close();
  for (const folder of folders) folder[Symbol.dispose]();
});

function newFolder(): string {
  const folder = temporaryFolder();
  folders.push(folder);
  return folder.path;
}

const start = (folder: string) =>
  startGateway({ yaml: configFor(fake.url), settings: { VEXEL_DATA: folder } });

const generate = (url: string, key: string): Promise<Response> =>
  post(
    `${url}/v1/images/generations`,
    { model: "dall-e-3", prompt: "an otter", response_format: "url" },
    { "idempotency-key": key },
  );

/** The number of generation requests at the upstream. Downloads of the generated image come as GET requests. */
const generations = (): number => fake.requests.filter(({ method }) => method === "POST").length;

const linkIn = (body: string): string =>
  (JSON.parse(body) as { data: [{ url: string }] }).data[0].url;

/** Renames the folders to their earlier names, and writes the earlier links into the stored responses. */
function toEarlierLayout(folder: string): void {
  renameSync(join(folder, "images"), join(folder, "pictures"));
  renameSync(join(folder, "responses"), join(folder, "answers"));
  const responses = join(folder, "answers");
  for (const name of readdirSync(responses).filter((each) => each.endsWith(".json"))) {
    const entry = JSON.parse(readFileSync(join(responses, name), "utf8")) as { body: string };
    const body = readFileSync(join(responses, entry.body), "utf8").replace(
      "/files/images/",
      "/pictures/",
    );
    writeFileSync(join(responses, entry.body), body);
    writeFileSync(join(responses, name), JSON.stringify({ ...entry, length: body.length }));
  }
}

describe("the event database of an earlier version", () => {
  const earlierEvents = [
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

  test("is migrated to the present event types and fields, and keeps its pending deliveries", async () => {
    using folder = temporaryFolder();
    openEventFile(folder.path).close();
    using earlier = new Database(join(folder.path, "events.db"), { strict: true });
    // Earlier versions did not number their migrations.
    earlier.run("DROP TABLE schema_migrations");
    for (const [at, [type, data]] of earlierEvents.entries()) {
      earlier
        .query("INSERT INTO events (id, type, at, data) VALUES (?1, ?2, ?3, ?4)")
        .run(`evt_${at}`, type, at, JSON.stringify(data));
      earlier
        .query(
          "INSERT INTO deliveries (webhook, seq, state, attempts, due) VALUES ('w', ?1, 'waiting', 0, 0)",
        )
        .run(at + 1);
    }
    // The second opening finds nothing left to migrate.
    for (let opening = 0; opening < 2; opening++) {
      using db = openEventFile(folder.path);
      const listed =
        (await createEventStore(new SqliteDatabase(db)).list({ limit: 10 }))?.toReversed() ?? [];
      expect(listed.map(({ type, data }) => [type, data])).toEqual(expected);
      expect(listed.map(({ deliveries }) => deliveries.map(({ state }) => state))).toEqual(
        earlierEvents.map(() => ["waiting"]),
      );
    }
  });
});

describe("stored images and responses of an earlier version", () => {
  test("are served under the present path and replayed by their idempotency keys, and the earlier path gets 404", async () => {
    const folder = newFolder();
    const key = crypto.randomUUID();
    const first = start(folder);
    const generated = await (await generate(first.url, key)).text();
    const image = await (await fetch(linkIn(generated))).bytes();
    expect(generations()).toBe(1);
    await first.close();
    toEarlierLayout(folder);

    const second = start(folder);
    try {
      const link = linkIn(generated).replace(first.url, second.url);
      const served = await fetch(link);
      expect(served.status).toBe(200);
      expect(await served.bytes()).toEqual(image);
      const earlierLink = await fetch(link.replace("/files/images/", "/pictures/"));
      expect(earlierLink.status).toBe(404);
      expect(await earlierLink.json()).toMatchObject({ error: { code: "unknown_url" } });

      const replayed = await generate(second.url, key);
      expect(replayed.headers.get("idempotent-replayed")).toBe("true");
      expect(await replayed.text()).toBe(generated.replace("/files/images/", "/pictures/"));
      expect(generations()).toBe(1);

      expect(readdirSync(folder)).toContain("images");
      expect(readdirSync(folder)).toContain("responses");
      expect(readdirSync(folder)).not.toContain("pictures");
      expect(readdirSync(folder)).not.toContain("answers");
    } finally {
      await second.close();
    }
  });

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

test("a new data folder has only the current folder names", async () => {
  const folder = newFolder();
  const gateway = start(folder);
  await gateway.close();
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(["images", "responses"]));
  expect(existsSync(join(folder, "pictures"))).toBeFalse();
  expect(existsSync(join(folder, "answers"))).toBeFalse();
});

describe("journals of an earlier version", () => {
  test("with the earlier file name held-… are recovered as reservations", async () => {
    using folder = temporaryFolder();
    const line = ["req_1", 1, "embeddings", "file:ci", "m", null, 0.04];
    writeFileSync(join(folder.path, "held-999999999-a.journal"), `${JSON.stringify(line)}\n`);
    const rows: LedgerRow[] = [];
    const recovery = new OutboxRecovery(folder.path, {
      append: async (recovered) => void rows.push(...recovered),
    });
    expect(recovery).toMatchObject({ reservations: 1, unreadable: 0 });
    await recovery.recover();
    expect(rows).toMatchObject([{ requestId: "req_1", estimatedCost: 0.04 }]);
    expect(readdirSync(folder.path).filter((name) => name.startsWith("held-"))).toEqual([]);
  });

  test("with the earlier column names keep error, cached inputs and estimated cost", () => {
    using folder = temporaryFolder();
    const { error: _, cachedInputs: __, estimatedCost: ___, ...row } = ledgerRow(0);
    const named = { ...row, fault: "upstream_timeout", knownInputs: 7, estimate: 0.25 };
    const lines = [named, [named], null].map((line) => `${JSON.stringify(line)}\n`).join("");
    writeFileSync(join(folder.path, "ledger-999999999-a.journal"), lines);
    const journal = new OutboxRecovery(folder.path, { append: async () => undefined });
    const expected = {
      ...row,
      error: "upstream_timeout",
      cachedInputs: 7,
      estimatedCost: 0.25,
    };
    expect(journal.rows).toEqual([expected, expected]);
    expect(journal.unreadable).toBe(1);
  });

  test("of the version before the outbox are moved into the ledger at the start: rows as they are, open reservations as estimates", async () => {
    const folder = newFolder();
    cpSync(join(import.meta.dir, "data-folder-aa2395b"), folder, { recursive: true });
    const gateway = start(folder);
    try {
      await until(() => !readdirSync(folder).some((name) => name.endsWith(".journal")));
      const rows = readLedger(folder);
      expect(rows.map(({ status, cost, estimatedCost }) => [status, cost, estimatedCost])).toEqual([
        [200, 0.5, null],
        [502, null, null],
        [200, 0.5, null],
        // Rows of the ledger journal.
        [200, 0.5, null],
        [200, 0.5, null],
        [200, 0.5, null],
        // Requests of the reservation log that have no row. The third and the sixth request have one.
        [500, null, 0.25],
        [500, null, 0.25],
        [500, null, 0.25],
        [500, null, 0.25],
      ]);
      expect(rows[4]?.model).toBe("größer – 大");
      expect(gateway.log()).toContain('"reservations-recovered","requests":4}');
    } finally {
      await gateway.close();
    }
    const store = new SqliteLedgerStore({ folder, maxBytes: 0 });
    expect(store.sumSpent({ scope: "project", id: "web" }, "2026-11-15")).toBe(4 * 0.5 + 4 * 0.25);
    await store.close();
  });
});
