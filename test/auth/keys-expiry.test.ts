/** Expiring keys: refused after their expiry, with one key.expiring event in the week before. */
import { expect, test } from "bun:test";
import type { Emit } from "../../contract/events.ts";
import type { Snapshot } from "../../server/config/snapshot.ts";
import { createExpiringKeys } from "../../server/events/key-events.ts";
import { startGateway } from "../harness.ts";

const day = 86_400_000;
const date = (days: number): string => new Date(Date.now() + days * day).toISOString().slice(0, 10);

test("an expired key is refused, and a key that has not expired works", async () => {
  const gateway = startGateway({
    yaml: `
keys:
  - { name: old, key: sk-old-0123456789abcdef, expires: ${date(-2)} }
  - { name: new, key: sk-new-0123456789abcdef, expires: ${date(2)} }
`,
  });
  const models = (key: string) =>
    fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  expect((await models("sk-new-0123456789abcdef")).status).toBe(200);
  const refused = await models("sk-old-0123456789abcdef");
  expect(refused.status).toBe(401);
  const { error } = (await refused.json()) as { error: { code: string; message: string } };
  expect(error.code).toBe("invalid_api_key");
  expect(error.message).toContain("has expired");
  const response = await gateway.post(
    "/v1/embeddings",
    { model: "all-minilm-l6-v2", input: "a" },
    { authorization: "Bearer sk-old-0123456789abcdef" },
  );
  expect(response.status).toBe(401);
  await gateway.close();
});

test("key.expiring is emitted in the last week of a key, not before and not after", () => {
  const now = Date.parse("2026-06-01T12:00:00Z");
  const key = (name: string, days?: number) => ({
    id: `file:${name}`,
    name,
    ...(days !== undefined && { expiresAt: now + days * day }),
  });
  const keys = [key("lasting"), key("far", 8), key("soon", 6), key("gone", -1)];
  const events: unknown[] = [];
  const emit: Emit = (event) => events.push(event);
  const snapshot = { keys: new Map(keys.map((each) => [each.id, each])) } as unknown as Snapshot;
  createExpiringKeys({ snapshot: () => snapshot, emit, now: () => now })();
  const expires_at = "2026-06-07T12:00:00.000Z";
  expect(events).toEqual([
    {
      type: "key.expiring",
      data: { id: "file:soon", name: "soon", expires_at },
      deduplicationKey: `key.expiring file:soon ${expires_at}`,
    },
  ]);
});

test("an invalid expiry date is reported with its location in the file", () => {
  const yaml = "keys: [{ name: a, key: sk-a-0123456789abcdef0, expires: someday }]";
  expect(() => startGateway({ yaml })).toThrow("keys[0].expires");
});
