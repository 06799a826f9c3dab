/** Signing secrets of webhook endpoints through a change of `VEXEL_SECRET`. */
import { expect, test } from "bun:test";
import { reencryptEndpoints } from "../../server/events/reencrypt-endpoints.ts";
import { SecretBox } from "../../server/storage/encrypt-secret.ts";
import { createWebhookEndpointStore } from "../../server/storage/sql/webhook-endpoint-store.ts";
import { openEventFile } from "../../server/storage/sqlite/event-database.ts";
import { SqliteDatabase } from "../../server/storage/sqlite/sqlite-database.ts";
import { temporaryFolder } from "../harness.ts";

test("after reencrypt, the signing secrets of webhook endpoints need the new VEXEL_SECRET only", async () => {
  using folder = temporaryFolder();
  const db = new SqliteDatabase(openEventFile(folder.path));
  const store = createWebhookEndpointStore(db);
  const [first, second] = ["first-secret-0123456789", "second-secret-0123456789"];
  const box = (secret: string, ...previous: string[]) =>
    new SecretBox({ folder: folder.path, secret, previous });
  const create = (id: string, secrets: SecretBox, previousSecret: string | null) =>
    store.create(
      {
        id,
        owner: "project:a",
        name: "mine",
        url: "https://example.com/",
        eventTypes: ["batch.completed"],
        secret: secrets.encrypt("whsec_now", id),
        hint: "now",
        previousSecret: previousSecret && secrets.encrypt(previousSecret, id),
        previousUntil: null,
        createdAt: 1,
        updatedAt: 1,
      },
      10,
    );
  await create("whe_1", box(first), "whsec_before");
  await create("whe_2", box(first), null);
  await create("whe_3", box(second), null);

  expect(await reencryptEndpoints(store, box(second, first))).toBe(2);
  expect(await reencryptEndpoints(store, box(second, first))).toBe(0);
  const opened = (await store.all()).map(({ id, secret, previousSecret }) => [
    id,
    box(second).decrypt(secret, id),
    previousSecret && box(second).decrypt(previousSecret, id),
  ]);
  expect(opened.sort()).toEqual([
    ["whe_1", "whsec_now", "whsec_before"],
    ["whe_2", "whsec_now", null],
    ["whe_3", "whsec_now", null],
  ]);
  await db.close();
});
