/** The log line of a budget's threshold, which every replica notices. */
import { expect, test } from "bun:test";
import { loadSnapshot } from "../../server/config/build/load-snapshot.ts";
import { openEvents } from "../../server/events/open-events.ts";
import { createLog } from "../../server/lib/log.ts";
import { SecretBox } from "../../server/storage/encrypt-secret.ts";
import { createAlertStore } from "../../server/storage/sql/alert-store.ts";
import { createDeliveryStore } from "../../server/storage/sql/delivery-store.ts";
import { createEventStore } from "../../server/storage/sql/event-store.ts";
import { createWebhookEndpointStore } from "../../server/storage/sql/webhook-endpoint-store.ts";
import { openEventFile } from "../../server/storage/sqlite/event-database.ts";
import { SqliteDatabase } from "../../server/storage/sqlite/sqlite-database.ts";
import { temporaryFolder } from "../harness.ts";

test("a threshold of a budget is logged by one of the replicas, and once", async () => {
  using folder = temporaryFolder();
  await using resources = new AsyncDisposableStack();
  const db = new SqliteDatabase(openEventFile(folder.path));
  resources.defer(() => db.close());
  const loaded = loadSnapshot({ path: "/nowhere/vexel.yaml", env: {} });
  if (!loaded.ok) throw new Error("the configuration is invalid");
  let written = "";
  const openReplica = (replica: string) =>
    openEvents({
      folder: folder.path,
      snapshot: () => loaded.snapshot,
      version: "1.0.0",
      shared: {
        events: createEventStore(db),
        deliveries: createDeliveryStore(db),
        alerts: createAlertStore(db),
        webhookEndpoints: createWebhookEndpointStore(db),
        now: Date.now,
      },
      mail: { smtpUrl: "", from: "" },
      replica,
      secrets: new SecretBox({ folder: folder.path, secret: "a secret", previous: [] }),
      trustedHosts: [],
      webhookDelaysMs: undefined,
      fetchOnly: { http: false, https: false },
      log: createLog({
        level: "info",
        format: "json",
        now: () => new Date(),
        write: (text) => {
          written += text;
        },
        replica,
      }),
      now: Date.now,
      clock: () => performance.now(),
      random: Math.random,
      resources,
    });
  const replicas = ["one", "two", "three"].map(openReplica);
  const data = {
    scope: "key",
    id: "key_1",
    name: "studio",
    period: "month",
    percent: 80,
    spent: 8.1,
    budget: 10,
  } as const;
  const deduplicationKey = "budget.threshold key studio 10 80 2026-11";
  for (const { emit } of replicas) emit({ type: "budget.threshold", data, deduplicationKey });
  // Recorded in order: the first three were written before this one.
  for (const { emit } of replicas)
    emit({
      type: "budget.threshold",
      data: { ...data, percent: 100 },
      deduplicationKey: "budget.threshold key studio 10 100 2026-11",
    });
  await resources.disposeAsync();
  const lines = written
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { event: string; percent: number });
  expect(lines.map(({ event, percent }) => [event, percent])).toEqual([
    ["budget-threshold", 80],
    ["budget-threshold", 100],
  ]);
});
