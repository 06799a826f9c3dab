/** What `vexel import litellm` reads: nothing is left out without a line, and nonsense is refused by name. */
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { planLitellm } from "../../cli/import/litellm/plan.ts";
import { readLitellmConfig } from "../../cli/import/litellm/read-config.ts";
import { readLitellmExport } from "../../cli/import/litellm/read-database.ts";
import { emptySource, type LitellmSource } from "../../cli/import/litellm/source.ts";
import { mapSecrets } from "../../cli/import/plan.ts";
import { printDetails, printPage } from "../../cli/import/print-report.ts";
import { Report } from "../../cli/import/report.ts";
import { secretHash } from "../../server/lib/secret-hash.ts";
import { temporaryFolder } from "../harness.ts";
import { litellmExport } from "./litellm-export.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const file = (name: string, text: string): string => {
  const path = join(folder.path, name);
  writeFileSync(path, text);
  return path;
};
const plan = (source: LitellmSource) => {
  const report = new Report();
  const planned = planLitellm(source, report, ({ text }) => text, Date.now());
  const line = (subject: string, field: string) =>
    report.lines.find((entry) => entry.subject === subject && entry.field === field);
  return { ...planned, line };
};

describe("config.yaml of LiteLLM:", () => {
  const config = (text: string) => plan(readLitellmConfig(file("config.yaml", text)));

  test("a list such as guardrails has a line in the report", () => {
    const { line } = config("model_list: []\nguardrails: [{ guardrail_name: pii }]\nextra: 7\n");
    expect(line("guardrails", "")?.note).toBe("1 entry: Vexel does not import this list");
    expect(line("extra", "")?.outcome).toBe("dropped");
  });

  test("environment_variables are the values of os.environ/NAME", () => {
    const { upstreams, line } = config(`
model_list:
  - model_name: search
    litellm_params: { model: openai/text-embedding-3-small, api_key: os.environ/IN_FILE }
  - model_name: other
    litellm_params: { model: openai/text-embedding-3-small, api_key: os.environ/NOT_IN_FILE }
environment_variables: { IN_FILE: sk-in-file }
`);
    const secrets: unknown[] = [];
    mapSecrets([...upstreams.values()], (secret) => {
      secrets.push([secret.variable, secret.text]);
      return "";
    });
    expect(secrets).toEqual([
      ["IN_FILE", "sk-in-file"],
      ["NOT_IN_FILE", undefined],
    ]);
    expect(line("environment_variables", "IN_FILE")?.outcome).toBe("carried");
  });

  test("a short master key is imported with a warning, and its hint does not show it", () => {
    const { keys, line } = config(`
general_settings: { master_key: sk-1234 }
model_list:
  - model_name: search
    litellm_params: { model: openai/text-embedding-3-small, api_key: sk-a }
`);
    expect(keys[0]).toMatchObject({ hash: secretHash("sk-1234"), hint: "****" });
    expect(line("general_settings.master_key", "master_key")?.note).toContain("can be guessed");
  });
});

test("a column of a key that Vexel does not know may be a protection: the key is refused", () => {
  const { keys, line } = plan({
    ...emptySource,
    models: [
      {
        model_name: "search",
        litellm_params: { model: "openai/text-embedding-3-small" },
        model_info: {},
        where: "config.yaml",
      },
    ],
    keys: [
      {
        token: secretHash("a"),
        key_alias: "web",
        access_group_ids: ["g"],
        agent_id: null,
        budget_id: "gone",
      },
      { token: secretHash("b"), key_alias: "new", models: [], shield: ["x"] },
    ],
  });
  expect(keys.map(({ name }) => name)).toEqual(["web"]);
  expect(line('key "new"', "shield")?.loss).toBe("unknown-columns");
  expect(line('key "web"', "access_group_ids")?.outcome).toBe("dropped");
  expect(line('key "web"', "agent_id")).toBeUndefined();
  expect(line('key "web"', "budget_id")?.note).toBe('the budget "gone" was not found');
});

describe("an export of LiteLLM is refused in one sentence", () => {
  const read = async (value: unknown) =>
    readLitellmExport(file("export.json", JSON.stringify(value)), undefined);
  const whole = litellmExport({ keys: [{ token: secretHash("a"), models: [] }] });

  test("if its tables are no lists of rows", async () => {
    await expect(read({ ...whole, LiteLLM_VerificationToken: [null] })).rejects.toThrow(
      "LiteLLM_VerificationToken[0] must be a row",
    );
    await expect(read({ ...whole, LiteLLM_TeamTable: { a: 1 } })).rejects.toThrow(
      "LiteLLM_TeamTable must be a list of rows",
    );
  });

  test("if it is half a dump: without members of teams, keys would have all models of the team", async () => {
    expect((await read(whole)).keys).toHaveLength(1);
    const { LiteLLM_TeamMembership, LiteLLM_UserTable, ...half } = whole;
    await expect(read(half)).rejects.toThrow(
      "does not have the tables LiteLLM_UserTable, LiteLLM_TeamMembership: it is incomplete",
    );
    await expect(read({})).rejects.toThrow("it is incomplete, or of another version of LiteLLM");
    await expect(read([])).rejects.toThrow("it is incomplete");
  });

  test("if a column is missing: a key without a list of models may use all of them", async () => {
    const { models, ...without } = whole.LiteLLM_VerificationToken[0] ?? { models: [] };
    await expect(read({ ...whole, LiteLLM_VerificationToken: [without] })).rejects.toThrow(
      "a row of LiteLLM_VerificationToken does not have the column models",
    );
  });

  test("if the salt key is wrong, also for credentials alone", async () => {
    const stored =
      "wEBT2AixdTpf7-s1DS6ubT-3nfrt3-1QPNYdpEf6iI_bGceeyRcHIYZzpHe6RXp4zMTdbpzULTONl4uxa7KxL4ImFp94";
    const rows = [{ credential_name: "vendor", credential_values: { api_key: stored } }];
    const path = file("salt.json", JSON.stringify({ ...whole, LiteLLM_CredentialsTable: rows }));
    await expect(readLitellmExport(path, "sk-another")).rejects.toThrow("cannot be decrypted");
    const { credentials } = await readLitellmExport(path, "sk-salt-1234567890");
    expect(credentials.get("vendor")).toEqual({ api_key: "openai/text-embedding-3-small" });
  });
});

test("a name with terminal escapes does not reach the terminal, and no other line", () => {
  const report = new Report();
  const hostile = "\u001b[2J\u001b]0;owned\u0007\nTo import: 0 keys\u202e";
  planLitellm(
    {
      ...emptySource,
      models: [
        { model_name: hostile, litellm_params: { model: hostile }, model_info: {}, where: hostile },
      ],
      keys: [
        { token: "no hash", key_alias: hostile, models: [hostile], metadata: { [hostile]: 1 } },
      ],
      endUsers: [{ user_id: hostile, blocked: true }],
    },
    report,
    () => undefined,
    Date.now(),
  );
  for (const text of [
    printDetails(report.lines),
    printPage(report.lines, { upstreams: 0, models: 0, projects: 0, keys: 0 }),
  ]) {
    expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(text.match(/^To import/gm)?.length ?? 0).toBeLessThan(2);
  }
});
