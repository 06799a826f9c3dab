/** POST /keys/bulk: many API keys in one change. */
import { afterAll, expect, test } from "bun:test";
import { keysBody } from "../../contract/schemas/keys.ts";
import { startFake } from "../fake-upstream.ts";
import { configFor, post } from "../harness.ts";
import { startEntityGateway } from "./entities-fixture.ts";

const fake = startFake();
const gateway = await startEntityGateway({
  yaml: `${configFor(fake.url)}projects:\n  - { name: web }\n`,
});
afterAll(async () => {
  await gateway.close();
  fake.close();
});

const embed = async (key: string): Promise<number> => {
  const body = { model: "text-embedding-3-small", input: "a text" };
  const headers = { authorization: `Bearer ${key}` };
  return (await post(`${gateway.baseURL}/embeddings`, body, headers)).status;
};
const bulk = (keys: readonly object[]) => gateway.call("POST /keys/bulk", { keys });
const stored = async () => (await gateway.call("GET /keys?search=bulk-&limit=200")).json.data;
const audited = async (action: string) =>
  (await gateway.call(`GET /audit?action=${action}`)).json.data;

test("a thousand keys are created by one request, work at once, and are one entry of the audit log", async () => {
  const names = Array.from({ length: 1000 }, (_, at) => `bulk-${at}`);
  const { status, json } = await bulk(
    names.map((name) => ({
      name,
      project: "web",
      models: ["text-*"],
      budget: { day: 5, month: 50 },
      limits: { requestsPerMinute: 600, tokensPerMinute: 1_000_000 },
    })),
  );
  expect(status).toBe(201);
  const created = json.data as unknown as { id: string; name: string; key: string }[];
  expect(created.map(({ name }) => name)).toEqual(names);
  expect(new Set(created.map(({ key }) => key)).size).toBe(1000);
  for (const at of [0, 999]) expect(await embed(created[at]?.key ?? "")).toBe(200);
  const one = await gateway.call(`GET /keys/${created[3]?.id}`);
  expect(one.json).toMatchObject({
    project: "web",
    budget: { day: 5, month: 50 },
    locked: { "budget.day": 5, "budget.month": 50 },
  });
  expect(JSON.stringify(one.json)).not.toContain(created[3]?.key ?? "");
  const entries = await audited("keys.created");
  expect(entries).toHaveLength(1);
  expect(entries[0]?.after).toMatchObject({ count: 1000 });
  expect(JSON.stringify(entries).length).toBeLessThan(10_000);
  expect(JSON.stringify(entries)).not.toContain(created[0]?.key ?? "");
  expect(await audited("key.created")).toHaveLength(0);
});

test("if one key is refused, none is created, and the error names it", async () => {
  const before = await stored();
  const { status, json } = await bulk([{ name: "bulk-new" }, { name: "bulk-b", project: "none" }]);
  expect(status).toBe(400);
  expect(json.error.param).toBe("keys[1].project");
  expect(await stored()).toEqual(before);
  const tooMany = Array.from({ length: 1001 }, () => ({ name: "bulk-x" }));
  expect((await bulk(tooMany)).json.error.param).toBe("keys");
  expect((await bulk([])).status).toBe(400);
  expect(keysBody.safeParse({ keys: [{ name: "a", key: "sk-0123456789abcdef" }] }).success).toBe(
    false,
  );
});
