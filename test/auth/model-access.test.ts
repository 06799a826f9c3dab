/** Model access of API keys with long lists of models. */
import { afterAll, describe, expect, test } from "bun:test";
import { requireKeyCapacity } from "../../server/admin/key-capacity.ts";
import { allowsModel } from "../../server/auth/authenticate.ts";
import type { Key } from "../../server/config/snapshot.ts";
import { matchesGlob } from "../../server/lib/glob.ts";
import { startEntityGateway } from "../admin/entities-fixture.ts";
import { startFake } from "../fake-upstream.ts";
import { startGateway, testKey } from "../harness.ts";

describe("a list of models", () => {
  test("allows the models that one of its ids or patterns matches", () => {
    const ids = ["a", "ab", "b/a", "b/ab", "c?", "*"];
    const lists = [
      ["a"],
      ["a*"],
      ["*"],
      ["a", "b/?"],
      ["?"],
      ["b/*", "a"],
      ["x", "c*"],
      ["a", "*"],
    ];
    for (const list of lists) {
      for (const id of ids) {
        const isAllowed = list.some((entry) => matchesGlob(entry, id));
        expect([list, id, allowsModel(list, { id })]).toEqual([list, id, isAllowed]);
      }
    }
  });
});

describe("an unknown model", () => {
  const fake = startFake();
  const gateway = startGateway({
    yaml: `
upstreams: [{ id: fake, kind: openai, baseUrl: "${fake.url}", apiKey: sk-fake }]
models:
  - { id: search-small, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-small }] }
  - { id: search-secret, kind: embedding, targets: [{ upstream: fake, model: text-embedding-3-large }] }
keys: [{ name: test, key: ${testKey}, models: [search-small, vexel-sketch] }]
`,
  });
  afterAll(async () => {
    await gateway.close();
    await fake.close();
  });
  const messageFor = async (model: string) => {
    const response = await gateway.post("/v1/embeddings", { model, input: "a" });
    const { error } = (await response.json()) as { error: { message: string; code: string } };
    expect([response.status, error.code]).toEqual([404, "model_not_found"]);
    return error.message;
  };

  test("is answered with the nearest model that the key may use", async () => {
    expect(await messageFor("serach-small")).toEndWith(
      "does not exist or you do not have access to it. Did you mean 'search-small'?",
    );
  });

  test("is answered with the models that the key may use if none is near, and never with others", async () => {
    expect(await messageFor("voyage-4")).toEndWith("This API key may use: search-small.");
    expect(await messageFor("search-secret")).not.toMatch(/search-secret.*search-secret/s);
    expect(await messageFor("search-secre")).not.toContain("search-secret");
  });
});

describe("a user of the console", () => {
  const started = startEntityGateway();
  afterAll(async () => (await started).close());

  const create = async (models: readonly string[]) => {
    const { call } = await started;
    return call("POST /keys", { name: "long", models });
  };

  test("cannot create a key with more than 1,000 models or 100 patterns", async () => {
    const ids = Array.from({ length: 1001 }, (_, at) => `model-${at}`);
    const tooMany = await create(ids);
    expect([tooMany.status, tooMany.json.error.param]).toEqual([400, "models"]);
    expect(tooMany.json.error.message).toContain("maximum length 1000");
    const patterns = await create(ids.slice(0, 101).map((id) => `${id}*`));
    expect([patterns.status, patterns.json.error.message]).toEqual([
      400,
      "Invalid 'models': must have at most 100 patterns with * or ?",
    ]);
    const allowed = [...ids.slice(0, 900), ...ids.slice(0, 100).map((id) => `${id}*`)];
    expect((await create(allowed)).status).toBe(201);
  });
});

test("a project has at most 10,000 API keys", () => {
  const keysOf = (count: number, project: string) => {
    const keys = new Map<string, Key>();
    for (let at = 0; at < count; at++) keys.set(`${project}-${at}`, { project } as Key);
    return { keys };
  };
  requireKeyCapacity(["web"], keysOf(9_999, "web"));
  expect(() => requireKeyCapacity(["web"], keysOf(10_000, "web"))).toThrow("The maximum is 10000");
  const several = ["app", "web", "web"];
  expect(() => requireKeyCapacity(several, keysOf(9_999, "web"))).toThrow("The maximum is 10000");
  requireKeyCapacity(["app"], keysOf(10_000, "web"));
  requireKeyCapacity([undefined], keysOf(10_000, "web"));
});
