/** A change of an imported key does not hide it from a later sync, and a rotated key is no longer the other gateway's. */
import { expect, test } from "bun:test";
import { secretHash } from "../../server/lib/secret-hash.ts";
import { openKeyStore } from "../../server/storage/sqlite/gateway-database.ts";
import { startEntityGateway } from "./entities-fixture.ts";

test("an imported key that is changed is still followed, and its successor is not", async () => {
  const gateway = await startEntityGateway();
  const keys = openKeyStore(gateway.folder, Date.now);
  const imported = { source: "litellm", installation: "one", models: ["a"] };
  const [id, hash] = ["key_0123456789abcdef", secretHash("sk-imported")];
  await keys.create({ id, name: "web", hash, hint: "sk-i", models: ["a"], createdAt: 1, imported });
  try {
    const changed = await gateway.call(`PUT /keys/${id}`, { name: "renamed", models: ["a"] });
    expect(changed.status).toBe(200);
    expect(await keys.findById(id)).toMatchObject({ name: "renamed", imported });
    const rotated = await gateway.call(`POST /keys/${id}/rotate`, { overlapHours: 1 });
    expect(rotated.status).toBe(201);
    expect((await keys.findById(rotated.json.id))?.imported).toBeUndefined();
    expect((await keys.findById(id))?.imported).toEqual(imported);
  } finally {
    await gateway.close();
    await keys.close();
  }
});
