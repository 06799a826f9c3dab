/** A model, a project or an upstream that API keys or alert rules name is not deleted by accident. */
import { afterAll, expect, test } from "bun:test";
import { startEntityGateway } from "./entities-fixture.ts";

const gateway = await startEntityGateway();
afterAll(() => gateway.close());

const targets = [{ upstream: "up", model: "text-embedding-3-small" }];
await gateway.call("POST /upstreams", { id: "up", kind: "openai", apiKey: "sk-x" });
await gateway.call("POST /models", { id: "embed", kind: "embedding", targets });
await gateway.call("POST /models", { id: "free", kind: "embedding", targets });
await gateway.call("POST /projects", { name: "studio" });
await gateway.call("POST /keys", { name: "by list", models: ["embed", "other"] });
await gateway.call("POST /keys", { name: "by pattern", models: ["embed*"] });
await gateway.call("POST /keys", { name: "by default", defaults: { embedding: "embed" } });
for (const [name, of] of Object.entries({
  "on model": { model: "embed" },
  "on project": { project: "studio" },
  "on upstream": { upstream: "up" },
}))
  await gateway.call("POST /alerts", { name, metric: "error_rate", above: 5, ...of });

const removed = async (path: `/${string}`) => {
  const { status, json } = await gateway.call(`DELETE ${path}`);
  const { used_by: usedBy = [] } = (json.error ?? {}) as unknown as {
    used_by?: readonly { kind: string; name: string }[];
  };
  return [status, usedBy.map(({ kind, name }) => `${kind} ${name}`).toSorted()];
};

test("a delete lists the API keys and alert rules that name the entity, and force deletes it", async () => {
  const ofModel = ["alert on model", "key by default", "key by list"];
  expect(await removed("/models/embed")).toEqual([409, ofModel]);
  expect(await removed("/projects/studio")).toEqual([409, ["alert on project"]]);
  expect(await removed("/models/free")).toEqual([204, []]);
  expect(await removed("/models/embed?force=true")).toEqual([204, []]);
  expect(await removed("/projects/studio?force=true")).toEqual([204, []]);
});

test("an upstream that a model needs is not deleted by force", async () => {
  await gateway.call("POST /models", { id: "needs", kind: "embedding", targets });
  expect(await removed("/upstreams/up")).toEqual([409, ["alert on upstream"]]);
  expect(await removed("/upstreams/up?force=true")).toEqual([409, ["model needs"]]);
});
