/** Emitted events: configuration reloads, an unwritable ledger, vector space drift; and the retention of events. */

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page, ShownEvent } from "../../contract/admin.ts";
import { createEventStore, type EventStore } from "../../server/storage/sql/event-store.ts";
import { openEventFile } from "../../server/storage/sqlite/event-database.ts";
import { SqliteDatabase } from "../../server/storage/sqlite/sqlite-database.ts";
import { closeAfterEach } from "../clean-up.ts";
import { problemsOf } from "../config/load-yaml.ts";
import { fakeVector, startFake } from "../fake-upstream.ts";
import { configFor, startProcess, temporaryFolder } from "../harness.ts";
import { until } from "../until.ts";
import {
  adminToken,
  getAdmin,
  startReceiver,
  startWithAdmin,
  type Watched,
  webhookYaml,
} from "./webhooks-fixture.ts";

const open = closeAfterEach();

const withoutKeys = (url: string): string => configFor(url).replace(/^keys:[\s\S]*/m, "");

const eventsOf = async (gateway: Watched): Promise<readonly ShownEvent[]> =>
  (await gateway.getAdmin<Page<ShownEvent>>("/admin/api/events")).data;

test("config.reloaded and config.rejected are emitted, and the webhooks of the new configuration get them", async () => {
  using folder = temporaryFolder();
  const receiver = startReceiver();
  open(receiver);
  const path = join(folder.path, "vexel.yaml");
  const env = { VEXEL_ADMIN_TOKEN: adminToken };
  const gateway = await startProcess({ folder: folder.path, yaml: "models: []", env });
  writeFileSync(path, webhookYaml({ url: receiver.url, events: '["config.*"]' }));
  await until(() => receiver.of("config.reloaded").length === 1);
  expect(receiver.received[0]?.data).toEqual({ changes: "1 webhook added" });
  writeFileSync(path, `${webhookYaml({ url: receiver.url })}modles: []\nkeys: [{ name: 3 }]\n`);
  await until(() => receiver.of("config.rejected").length === 1);
  const { problems } = receiver.received[1]!.data as { problems: string[] };
  expect(problems.join("\n")).toContain("did you mean `models`?");
  expect(problems.length).toBe(3);
  const { data } = await getAdmin<Page<ShownEvent>>(gateway.url, "/admin/api/events?type=config.*");
  expect(data.map(({ type }) => type)).toEqual(["config.rejected", "config.reloaded"]);
  gateway.kill("SIGTERM");
  expect(await gateway.exited).toBe(0);
});

test("ledger.unwritable and ledger.recovered are emitted", async () => {
  const fake = startFake();
  const gateway = startWithAdmin({
    yaml: withoutKeys(fake.url),
    settings: { VEXEL_LEDGER_MAX_BYTES: String(56 * 1024) },
  });
  open(fake, gateway);
  const body = { model: "text-embedding-3-small", input: "a", dimensions: 2 };
  await until(async () => (await gateway.post("/v1/embeddings", body)).status === 503);
  const [broken] = await eventsOf(gateway);
  expect(broken).toMatchObject({ type: "ledger.unwritable", data: { policy: "refuse" } });
  const other = new Database(join(gateway.folder, "ledger.db"));
  other.run("PRAGMA busy_timeout = 5000");
  other.run("DELETE FROM ledger");
  other.close();
  await until(async () => (await eventsOf(gateway)).length === 2);
  expect((await eventsOf(gateway))[0]?.type).toBe("ledger.recovered");
});

test("target.drifted is emitted for a target whose vectors drift", async () => {
  const [reference, drifted] = [startFake(), startFake()];
  const otherVector = {
    data: [{ index: 0, embedding: Array.from(fakeVector("another text", 1536)) }],
  };
  drifted.script(
    { response: { status: 200, body: JSON.stringify(otherVector) } },
    { times: Infinity },
  );
  const gateway = startWithAdmin({
    settings: { VEXEL_CANARY_HOURS: "" },
    yaml: `
upstreams:
  - { id: reference, kind: openai, baseUrl: "${reference.url}", apiKey: sk-fake }
  - { id: drifted, kind: openai, baseUrl: "${drifted.url}", apiKey: sk-fake }
models:
  - { id: vectors, kind: embedding, targets: [{ upstream: reference, model: custom-embedding-1 }, { upstream: drifted, model: custom-embedding-1 }] }
`,
  });
  open(reference, drifted, gateway);
  await until(async () => (await eventsOf(gateway)).length === 1);
  expect(await eventsOf(gateway)).toMatchObject([
    {
      type: "target.drifted",
      data: {
        model: "vectors",
        upstream: "drifted",
        target_model: "custom-embedding-1",
        reason: expect.stringContaining("cosine"),
      },
    },
  ]);
});

describe("webhooks in vexel.yaml", () => {
  const entry = (url: string, secret: string, events = '["*"]') =>
    `webhooks: [{ url: "${url}", secret: "${secret}", events: ${events} }]`;
  const good = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;

  test("are validated before they are in force, without showing a secret", () => {
    expect(problemsOf(entry("http://10.0.0.1/x?y=z", good))).toBe("");
    expect(problemsOf(entry("ftp://a/", good))).toContain("must start with http");
    expect(problemsOf(entry("http://u:p@a/", good))).toContain("username or password");
    expect(problemsOf(entry("http://a/", good, '["budgets.*"]'))).toContain(
      "matches no event type",
    );
    expect(problemsOf(entry("http://a/", good, '["key.create"]'))).toContain(
      "did you mean key.created?",
    );
    expect(problemsOf(`webhooks: [{ url: "http://a/", secrets: "${good}" }]`)).toContain(
      "did you mean `secret`?",
    );
    expect(
      problemsOf(
        `webhooks:\n  - { url: http://a/, secret: "${good}" }\n  - { url: http://a/, secret: "${good}" }`,
      ),
    ).toContain("it is the same as webhooks[0].url");
    const short = `whsec_${Buffer.alloc(23, 7).toString("base64")}`;
    for (const bad of [
      short,
      "plain-text-secret-of-a-good-length",
      good.replace("=", "-"),
      `${good}x`,
    ]) {
      const output = problemsOf(entry("http://a/", bad));
      expect(output).toContain("webhooks[0].secret: must be whsec_ and 24 to 64 random bytes");
      expect(output).not.toContain(bad);
    }
  });
});

describe("the event file", () => {
  const record = (store: EventStore, count: number, at: number, webhooks: string[] = []) =>
    store.record({ id: `evt_${count}`, type: "config.reloaded", at, data: {} }, webhooks);

  test("holds a bounded number of events with their deliveries", async () => {
    using folder = temporaryFolder();
    const db = openEventFile(folder.path);
    const store = createEventStore(new SqliteDatabase(db));
    db.run("PRAGMA synchronous = OFF");
    for (let i = 0; i < 10_300; i++)
      await record(store, i, 1000 + i, i % 100 === 0 ? ["wh_a"] : []);
    const count = (table: string) =>
      db.query<{ n: number }, []>(`SELECT COUNT(*) AS n FROM ${table}`).get()?.n ?? 0;
    while (await store.prune(20_000)) {}
    // Three of the oldest wait for their delivery.
    expect(count("events")).toBe(10_003);
    expect(count("deliveries")).toBe(103);
    expect((await store.list({ limit: 1 }))?.[0]?.id).toBe("evt_10299");
    db.close();
  });
});
