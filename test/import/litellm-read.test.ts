/** What `vexel import litellm` reads: nothing is left out without a line, and nonsense is refused by name. */
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { planLitellm } from "../../cli/import/litellm/plan.ts";
import { readLitellmConfig } from "../../cli/import/litellm/read-config.ts";
import { readLitellmExport } from "../../cli/import/litellm/read-database.ts";
import { emptySource, type LitellmSource } from "../../cli/import/litellm/source.ts";
import { mapSecrets } from "../../cli/import/plan.ts";
import { Report } from "../../cli/import/report.ts";
import { secretHash } from "../../server/lib/secret-hash.ts";
import { temporaryFolder } from "../harness.ts";

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

test("a column of a key or team that Vexel does not know has a line if it has a value", () => {
  const { line } = plan({
    ...emptySource,
    models: [
      {
        model_name: "search",
        litellm_params: { model: "openai/text-embedding-3-small" },
        model_info: {},
        where: "config.yaml",
      },
    ],
    teams: [{ team_id: "t1", team_alias: "team", note: "of a friend" }],
    keys: [
      {
        token: secretHash("a"),
        key_alias: "web",
        access_group_ids: ["g"],
        agent_id: null,
        budget_id: "gone",
      },
    ],
  });
  expect(line('team "team"', "note")?.outcome).toBe("dropped");
  expect(line('key "web"', "access_group_ids")?.outcome).toBe("dropped");
  expect(line('key "web"', "agent_id")).toBeUndefined();
  expect(line('key "web"', "budget_id")?.note).toBe('the budget "gone" was not found');
});

test("an export whose tables are no lists of rows is refused by name", async () => {
  const read = async (value: unknown) =>
    readLitellmExport(file("export.json", JSON.stringify(value)), undefined);
  await expect(read({ keys: [null] })).rejects.toThrow("has none of the tables");
  await expect(read({ LiteLLM_VerificationToken: [null] })).rejects.toThrow(
    "LiteLLM_VerificationToken[0] must be a row",
  );
  await expect(read({ LiteLLM_TeamTable: { a: 1 } })).rejects.toThrow(
    "LiteLLM_TeamTable must be a list of rows",
  );
});
