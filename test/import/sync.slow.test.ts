/** `vexel import --sync`: during a move, keys that become narrower there become narrower here, and nothing else changes. */
import { beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { secretHash } from "../../server/lib/secret-hash.ts";
import type { JsonObject } from "../../server/storage/sql/config-entity-store.ts";
import type { StoredKey } from "../../server/storage/sql/stored-key.ts";
import { closeAfterEach } from "../clean-up.ts";
import { temporaryFolder } from "../harness.ts";
import { type Ended, vexel } from "../process/process-fixture.ts";
import { litellmExport } from "./litellm-export.ts";

const opened = closeAfterEach();
let folder = "";
beforeEach(() => {
  const temporary = temporaryFolder();
  opened(temporary);
  folder = temporary.path;
});

const config = `
model_list:
  - { model_name: small, litellm_params: { model: openai/text-embedding-3-small, api_key: sk-a } }
  - { model_name: large, litellm_params: { model: openai/text-embedding-3-large, api_key: sk-a } }
`;
const withArt = `${config}
  - { model_name: art, litellm_params: { model: openai/gpt-image-1, api_key: sk-a } }
`;
const key = (name: string, columns: JsonObject = {}): JsonObject => ({
  token: secretHash(name),
  key_alias: name,
  models: [],
  max_budget: 10,
  spend: 4,
  rpm_limit: 60,
  ...columns,
});
const team = { team_id: "t", team_alias: "team", models: [], max_budget: 100, spend: 10 };

const run = (args: readonly string[]): Promise<Ended> =>
  vexel(args, { cwd: folder, env: { VEXEL_DATA: join(folder, "data") } });
/** Imports from LiteLLM with these rows. */
function importFrom(
  keys: readonly JsonObject[],
  args: readonly string[],
  { teams = [team], models = config }: { teams?: readonly JsonObject[]; models?: string } = {},
): Promise<Ended> {
  const [rows, file] = [join(folder, "rows.json"), join(folder, "config.yaml")];
  writeFileSync(rows, JSON.stringify(litellmExport({ keys, teams })));
  writeFileSync(file, models);
  return run(["import", "litellm", "--config", file, "--export", rows, ...args]);
}
const sync = (keys: readonly JsonObject[], args: readonly string[] = [], more = {}) =>
  importFrom(keys, ["--sync", ...args], more);
const stored = async (): Promise<ReadonlyMap<string, StoredKey>> => {
  const { out } = await run(["keys", "list", "--json"]);
  return new Map((JSON.parse(out) as StoredKey[]).map((each) => [each.name, each]));
};
const keyNames = ["a", "b", "c"];
const three = keyNames.map((name) => key(name, name === "c" ? { team_id: "t" } : {}));

describe("a sync with the other gateway", () => {
  test("changes nothing if nothing has changed there, however much was spent", async () => {
    await importFrom(three, ["--apply"]);
    const before = await stored();
    const spent = three.map((row) => ({ ...row, spend: 9 }));
    const { code, out } = await sync(spent, ["--apply"]);
    expect(out).toContain("3 imported keys: nothing is lower there.");
    expect(code).toBe(0);
    expect(await stored()).toEqual(before);
  });

  test("lowers limits, budgets, models and the expiry, once, and never raises them", async () => {
    await importFrom(three, ["--apply"]);
    const changed = [
      key("a", { max_budget: 8, rpm_limit: 30, models: ["small"], expires: "2999-01-01" }),
      key("b", { max_budget: 99, rpm_limit: 600, tpm_limit: 1000 }),
      key("c", { team_id: "t" }),
    ];
    const teams = [{ ...team, max_budget: 70 }];
    const dry = await sync(changed, [], { teams });
    expect(dry.out).toContain("budget.total: 10 to 8");
    expect(dry.out).toContain('project "team": budget.total: 100 to 70');
    expect(dry.out).toContain("Nothing was written.");
    for (let times = 0; times < 2; times += 1)
      expect(await sync(changed, ["--apply"], { teams })).toMatchObject({ code: 0, err: "" });
    const keys = await stored();
    expect(keys.get("a")).toMatchObject({
      models: ["small"],
      limits: { requestsPerMinute: 30 },
      budget: { total: 4 },
      expiresAt: Date.parse("2999-01-01"),
    });
    expect(keys.get("b")).toMatchObject({
      limits: { requestsPerMinute: 60, tokensPerMinute: 1000 },
      budget: { total: 6 },
    });
    const { out } = await run(["config", "get", "project", "team"]);
    expect(JSON.parse(out)).toEqual({ budget: { total: 60 } });
  });

  test("ends keys that are blocked there, and revokes those that were deleted", async () => {
    await importFrom(three, ["--apply"]);
    const { code } = await sync(
      [key("a", { blocked: true }), key("c", { team_id: "t" })],
      ["--apply", "--revoke", "2"],
    );
    expect(code).toBe(0);
    const keys = await stored();
    expect(keys.get("a")?.expiresAt).toBeLessThanOrEqual(Date.now());
    expect(keys.get("b")?.revokedAt).not.toBeNull();
    expect(keys.get("c")).toMatchObject({ revokedAt: null });
  });

  test("does not revoke more keys than --revoke says", async () => {
    await importFrom(three, ["--apply"]);
    const before = await stored();
    const fewer = three.slice(0, 1);
    for (const args of [["--apply"], ["--apply", "--revoke", "1"]]) {
      const { code, err } = await sync(fewer, args);
      expect(code).toBe(1);
      expect(err).toContain("nothing was written");
      expect(err).toContain("use --revoke 2");
    }
    expect(await stored()).toEqual(before);
  });

  test("leaves keys alone that were not imported, and changes that were made here", async () => {
    await importFrom(three, ["--apply"]);
    await run(["keys", "create", "--name", "own", "--models", "*"]);
    const before = (await stored()).get("own");
    await sync([key("a"), key("b", { rpm_limit: 30 }), key("c", { team_id: "t" })], ["--apply"]);
    expect((await stored()).get("own")).toEqual(before as StoredKey);
  });

  test("lists new models, and adds them only if the user accepts them", async () => {
    await importFrom(three, ["--apply"]);
    const { out } = await sync(three, ["--apply"], { models: withArt });
    expect(out).toContain("New there, and not added without --accept new-models: art.");
    expect((await stored()).get("a")?.models).toEqual(["small", "large"]);
    const added = await sync(three, ["--apply", "--accept", "new-models"], { models: withArt });
    expect(added).toMatchObject({ code: 0, err: "" });
    expect((await stored()).get("a")?.models).toEqual(["small", "large", "art"]);
    expect((await run(["config", "list"])).out).toContain("art");
  });

  test("accepts the losses that the import accepted", async () => {
    const keys = [key("a", { metadata: { guardrails: ["pii"] } }), key("b")];
    await importFrom(keys, ["--apply", "--accept", "guardrails"]);
    expect((await sync(keys)).out).toContain("2 imported keys: nothing is lower there.");
  });
});

describe("a sync is refused", () => {
  test("with another installation", async () => {
    await importFrom(three, ["--apply"]);
    const { code, err } = await sync([key("x"), key("y")], ["--apply", "--revoke", "3"]);
    expect(code).toBe(2);
    expect(err).toContain("this is another installation of litellm");
  });

  test("with keys of two installations, and each installation is followed alone", async () => {
    await importFrom([key("a"), key("b")], ["--apply"]);
    await importFrom([key("x"), key("y")], ["--apply"]);
    const both = await sync([key("a"), key("x")], ["--apply", "--revoke", "2"]);
    expect(both.err).toContain("has keys of 2 imported installations");
    const one = await sync([key("a")], ["--apply", "--revoke", "1"]);
    expect(one.code).toBe(0);
    const keys = await stored();
    expect(["a", "b", "x", "y"].map((name) => keys.get(name)?.revokedAt === null)).toEqual([
      true,
      false,
      true,
      true,
    ]);
  });

  test("before an import", async () => {
    const { code, err } = await sync(three);
    expect(code).toBe(2);
    expect(err).toContain("--sync follows an import");
  });
});

test("a second import says that keys of the first one are lower there", async () => {
  await importFrom(three, ["--apply"]);
  const changed = [key("a", { blocked: true }), key("b", { max_budget: 1 })];
  for (const args of [[], ["--apply"]]) {
    const { out } = await importFrom(changed, args);
    expect(out).toContain(
      "Of 3 keys of an earlier import, 2 are blocked, refused or deleted there and still work here, 1 have less there than here: --sync",
    );
  }
});

test("options that do not fit are refused by name", async () => {
  const refused = async (...args: string[]) => (await importFrom(three, args)).err;
  expect(await refused("--accept", "guardrail")).toContain("did you mean guardrails");
  expect(await refused("--accept", "new-models")).toContain("option of --sync");
  expect(await refused("--revoke", "3")).toContain("option of --sync");
  expect(await refused("--sync", "--revoke", "x")).toContain('not "x"');
  expect(await refused("--sync", "--yaml")).toContain("not both");
});
