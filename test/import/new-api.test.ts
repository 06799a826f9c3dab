/** The plan of an import from new-api: what is refused, left out and reported. */
import { expect, test } from "bun:test";
import { planNewApi } from "../../cli/import/new-api/plan.ts";
import type { NewApiSource } from "../../cli/import/new-api/read.ts";
import type { ImportPlan } from "../../cli/import/plan.ts";
import { printDetails } from "../../cli/import/print-report.ts";
import { Report } from "../../cli/import/report.ts";
import type { JsonObject } from "../../server/storage/sql/config-entity-store.ts";

const owner = { id: 1, status: 1, quota: 700, deleted_at: null };
const channel = { id: 1, type: 1, key: "sk-a", name: "main", models: "text-embedding-3-small" };
const token = { id: 1, user_id: 1, key: "k".repeat(48), name: "web", remain_quota: 500_000 };

function plan(source: Partial<NewApiSource>): ImportPlan & { readonly text: string } {
  const report = new Report();
  const full = { channels: [channel], tokens: [], users: [owner], options: new Map(), ...source };
  const prices = { quotaPerUnit: undefined, ratios: new Map(), prices: new Map() };
  const planned = planNewApi({ ...prices, ...full }, report, {
    quotaPerDollar: 500_000,
    isConfirmed: true,
    now: 1_800_000_000_000,
  });
  return { ...planned, text: printDetails(report.lines) };
}

const planToken = (fields: JsonObject): ReturnType<typeof plan> =>
  plan({ tokens: [{ ...token, ...fields }] });

test("a token with a key becomes an API key with a budget", () => {
  expect(planToken({}).keys).toMatchObject([{ name: "web", budget: { total: 1 } }]);
});

test.each([
  ["no key", { key: undefined }, "the token has no key"],
  ["NULL as its key", { key: null }, "the token has no key"],
  ["an empty key", { key: " " }, "the token has no key"],
  ["a masked key", { key: "abcd**********wxyz" }, "its key is masked"],
])("a token with %s gives no API key, and the report names it", (_, fields, reason) => {
  const { keys, text } = planToken(fields);
  expect(keys).toEqual([]);
  expect(text).toContain(`token "web"\n  refused      not imported: ${reason}`);
});

test.each(["remain_quota", "expired_time", "created_time", "status"])(
  "a token whose %s is not a number gives no API key",
  (field) => {
    for (const value of ["abc", "", "NaN"]) {
      const { keys, text } = planToken({ [field]: value });
      expect(keys).toEqual([]);
      expect(text).toContain(`its ${field} is not a number: "${value}"`);
    }
  },
);

test("a token that expires after the last date gives no API key", () => {
  expect(planToken({ expired_time: 1e15 }).keys).toEqual([]);
});

test("a token without a limit needs a value that says so", () => {
  expect(planToken({ unlimited_quota: "abc" }).keys).toEqual([]);
  expect(planToken({ unlimited_quota: "false" }).keys).toMatchObject([{ budget: { total: 1 } }]);
});

test.each([
  ["disabled", { ...owner, status: 2 }, "its user is disabled"],
  ["deleted", { ...owner, deleted_at: "2026-01-01 00:00:00" }, "its user is deleted"],
  ["absent", { ...owner, id: 2 }, "its user does not exist"],
])("a token of a user who is %s gives no API key", (_, user, reason) => {
  const { keys, text } = plan({ tokens: [token], users: [user] });
  expect(keys).toEqual([]);
  expect(text).toContain(`not imported: ${reason}`);
});

test("a token without a quota is limited by the quota of its user, as the budget of a project", () => {
  const { keys, projects } = planToken({ unlimited_quota: 1 });
  expect(keys[0]?.budget).toBeUndefined();
  expect(keys[0]?.project).toBe("user 1");
  expect([...projects]).toEqual([["user 1", { budget: { total: 0.0014 } }]]);
});

const planChannel = (...channels: readonly JsonObject[]): ReturnType<typeof plan> =>
  plan({ channels: channels.map((fields) => ({ ...channel, ...fields })) });
const baseUrls = ({ upstreams }: ImportPlan): unknown[] =>
  [...upstreams.values()].map(({ baseUrl }) => baseUrl);

test("a name with channels for embeddings and for images becomes a model of one kind", () => {
  const { models, text } = planChannel(
    { models: "art", model_mapping: '{"art":"text-embedding-3-small"}' },
    { models: "art", model_mapping: '{"art":"gpt-image-1"}', key: "sk-b" },
  );
  expect(models.get("art")).toMatchObject({
    kind: "embedding",
    targets: [{ model: "text-embedding-3-small" }],
  });
  expect(text).toContain("only the 1 for embeddings are imported");
  expect(text).not.toContain("cannot be compared");
});

test("a key that is disabled in multi_key_status_list is not used", () => {
  const info = { is_multi_key: true, multi_key_status_list: { 1: 2, 3: 3 } };
  for (const channel_info of [info, JSON.stringify(info)]) {
    const { upstreams, text } = planChannel({ key: "sk-a\nsk-b\nsk-c\nsk-d", channel_info });
    const keys = [...upstreams.values()].map(({ apiKey }) => apiKey);
    expect(keys).toMatchObject([{ text: "sk-a" }, { text: "sk-c" }]);
    expect(text).toContain("2 of 4 keys are disabled");
  }
});

test("the full address of a custom channel becomes a base URL, or is refused by name", () => {
  const at = (base_url: string) => planChannel({ type: 8, base_url });
  for (const path of ["embeddings", "embeddings/", "images/generations", "images/edits"])
    expect(baseUrls(at(`https://a.example/v1/${path}`))).toEqual(["https://a.example/v1"]);
  for (const url of [
    "https://a.example/v1/chat/completions",
    "https://a.example/{model}/embeddings",
    "",
  ]) {
    const { models, text } = at(url);
    expect(models.size).toBe(0);
    expect(text).toContain('channel "main"\n  dropped      base_url: not imported');
  }
});

test("several service accounts become an upstream each, and another key is refused by name", () => {
  const account = (name: string) => ({ project_id: name, client_email: "a@b", private_key: "p" });
  const vertex = { type: 41, models: "text-embedding-005" };
  const key = JSON.stringify([account("one"), account("two")]);
  const { upstreams } = planChannel({ ...vertex, key, channel_info: { is_multi_key: true } });
  const accounts = [...upstreams.values()].map(({ serviceAccount }) => serviceAccount);
  expect(accounts).toMatchObject(["one", "two"].map((n) => ({ text: JSON.stringify(account(n)) })));
  expect([...upstreams.values()]).toMatchObject([{ project: "one" }, { project: "two" }]);
  for (const other of ["AIza", "[]", '["x"]', "{}"]) {
    const refused = planChannel({ ...vertex, key: other });
    expect(refused.models.size).toBe(0);
    expect(refused.text).not.toContain("undefined");
    expect(refused.text).toContain("not imported");
  }
});

test("a chain in model_mapping is followed, and a circle is not served", () => {
  const mapping = { a: "b", b: "text-embedding-3-small", x: "y", y: "x" };
  const { models, text } = planChannel({ models: "a,x", model_mapping: JSON.stringify(mapping) });
  expect(models.get("a")).toMatchObject({ targets: [{ model: "text-embedding-3-small" }] });
  expect(text).toContain("not served: x");
});

test("a model_mapping that cannot be read leaves the channel out", () => {
  expect(planChannel({ model_mapping: "{" }).models.size).toBe(0);
});

test("a channel whose priority or weight is not a number is refused by name", () => {
  for (const field of ["priority", "weight", "status"]) {
    const { models, text } = planChannel({ [field]: "abc" });
    expect(models.size).toBe(0);
    expect(text).toContain(`its ${field} is not a number: "abc"`);
  }
});

test("the report has a line for priority, weight, auto_ban and prices", () => {
  const options = new Map(
    ["QuotaPerUnit", "ModelPrice", "SMTPServer", "SelfUseModeEnabled", "ModelRatio"].map((name) => [
      name,
      name === "SelfUseModeEnabled" ? "true" : "",
    ]),
  );
  const { text } = plan({
    channels: [{ ...channel, priority: 5, weight: 3, auto_ban: 1 }],
    options,
  });
  expect(text).toContain("carried      priority: ");
  expect(text).toContain("carried      weight: weight: 3");
  expect(text).toContain("dropped      auto_ban: ");
  expect(text).toContain("approximated ModelRatio: ");
  expect(text).toContain("approximated ModelPrice: ");
  expect(text).toContain("dropped      1 others");
});

const targetsOf = ({ models }: ImportPlan, id: string) =>
  models.get(id)?.targets as readonly JsonObject[];

test("a budget is enforced at the price of the site, or else at the list price", () => {
  const proxy = { ...channel, base_url: "https://proxy.example" };
  const images = { ...proxy, id: 2, models: "gpt-image-1,dall-e-3" };
  const given = plan({
    channels: [proxy, images],
    ratios: new Map([["text-embedding-3-small", 0.05]]),
    prices: new Map([["dall-e-3", 0.04]]),
  });
  expect(targetsOf(given, "text-embedding-3-small")[0]?.price).toEqual({ input: 0.1 });
  expect(targetsOf(given, "dall-e-3")[0]?.price).toEqual({ image: 0.04 });
  expect(targetsOf(given, "gpt-image-1")[0]?.price).toMatchObject({ input: 5, output: 40 });
  const listed = plan({ channels: [proxy] });
  expect(targetsOf(listed, "text-embedding-3-small")[0]?.price).toEqual({ input: 0.02 });
});

test("a budget that does not count a model without a price says so", () => {
  const own = { ...channel, base_url: "https://proxy.example", models: "our-own-embedding" };
  const options = new Map([["SelfUseModeEnabled", "true"]]);
  const { text } = plan({ channels: [own], tokens: [token], options });
  expect(text).toContain("Not enforced for model our-own-embedding");
});

test("a token may use the models of its group only", () => {
  const channels = [channel, { ...channel, id: 2, models: "gpt-image-1", group: "vip,svip" }];
  const users = [owner, { ...owner, id: 2, username: "customer", group: "svip" }];
  const options = new Map([["UserUsableGroups", '{"default":"","vip":"","auto":""}']]);
  const modelsOf = (fields: JsonObject) =>
    plan({ channels, users, options, tokens: [{ ...token, ...fields }] }).keys[0]?.models;
  expect(modelsOf({})).toEqual(["text-embedding-3-small"]);
  expect(modelsOf({ group: "vip" })).toEqual(["gpt-image-1"]);
  expect(modelsOf({ user_id: 2 })).toEqual(["gpt-image-1"]);
  expect(modelsOf({ group: "auto", auto_groups: '["default","vip"]' })).toEqual([
    "text-embedding-3-small",
    "gpt-image-1",
  ]);
  expect(modelsOf({ model_limits_enabled: 1, model_limits: "gpt-image-1" })).toBeUndefined();
});

test("every column of a channel with a value has a line in the report", () => {
  const { text } = plan({ channels: [{ ...channel, remark: "of a friend", new_column: "x" }] });
  expect(text).toContain("dropped      remark: ");
  expect(text).toContain("dropped      new_column: ");
});
