/**
 * What clients, scripts and dashboards depend on, as files: a change of it is a difference of these files, which a
 * review shows. docs/stability.md says what may change. `UPDATE_GOLDENS=1 npm test -- test/contract` writes them again.
 */
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { check } from "../../cli/check.ts";
import type { Command } from "../../cli/command.ts";
import { config } from "../../cli/config.ts";
import { db } from "../../cli/db.ts";
import { embed } from "../../cli/embed.ts";
import { exportCommand } from "../../cli/export.ts";
import { importCommand } from "../../cli/import.ts";
import { keys } from "../../cli/keys.ts";
import { models } from "../../cli/models.ts";
import { serve } from "../../cli/serve.ts";
import { setupLink } from "../../cli/setup-link.ts";
import { type ErrorDefinition, errorTable } from "../../contract/errors.ts";
import { eventTypes, jobEventTypes } from "../../contract/events.ts";
import { buildOpenapi } from "../../server/api/openapi.ts";
import { fileSchema } from "../../server/config/validate/schema.ts";
import { routes } from "../../server/http/routes.ts";
import { fileVariableOf, secretSettings, settingsTable } from "../../server/settings.ts";
import { configFor, startGateway } from "../harness.ts";
import { firstCodes, proseOf, rowsOf, sectionOf } from "../laws/markdown.ts";

const adminToken = "admin-0123456789abcdef";
const gateway = startGateway({
  yaml: configFor("http://127.0.0.1:9"),
  settings: { VEXEL_ADMIN_TOKEN: adminToken },
});
afterAll(() => gateway.close());

/** Texts for people may change in any version. */
const prose = new Set(["$schema", "description", "example", "examples", "info", "summary"]);
/** The members of these are named by the API, such as a field `description` of a body. */
const named = new Set(["properties", "paths", "schemas", "$defs"]);

function withoutProse(value: unknown, areNames = false): unknown {
  if (Array.isArray(value)) return value.map((each) => withoutProse(each));
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => areNames || !prose.has(name));
  return Object.fromEntries(
    kept.map(([name, member]) => [name, withoutProse(member, !areNames && named.has(name))]),
  );
}

async function adminDocument(): Promise<unknown> {
  const headers = { authorization: `Bearer ${adminToken}` };
  const { paths, components } = (await (
    await fetch(`${gateway.url}/admin/api/openapi.json`, { headers })
  ).json()) as Readonly<Record<string, unknown>>;
  return withoutProse({ paths, components });
}

/** Another path of a route has the operation of the route. */
function api(): unknown {
  const document = buildOpenapi("", "") as { paths: Record<string, Record<string, unknown>> };
  for (const { path, method, sameAs } of routes) {
    const operations = document.paths[path];
    if (sameAs !== undefined && operations) operations[method.toLowerCase()] = { sameAs };
  }
  return withoutProse(document);
}

const errors = () =>
  Object.fromEntries(
    (Object.entries(errorTable) as [string, ErrorDefinition][]).map(([name, definition]) => {
      const { description: _, ...facts } = definition;
      return [name, facts];
    }),
  );

const settings = () =>
  Object.fromEntries(
    (Object.entries(settingsTable) as [string, z.ZodType][]).map(([name, schema]) => {
      const { enum: values } = z.toJSONSchema(schema, { io: "output" }) as { enum?: string[] };
      const file = secretSettings.has(name) ? { file: fileVariableOf(name) } : {};
      return [name, { default: schema.parse(undefined), ...(values && { values }), ...file }];
    }),
  );

const commands: readonly Command[] = [
  serve,
  check,
  keys,
  config,
  db,
  setupLink,
  models,
  importCommand,
  exportCommand,
  embed,
];

/** The tables of exit codes, by page: each row without its explanation. */
const exitCodes = (page: string): string[] => {
  const [, table = ""] = /\n\| exit code \|.*\n\|[-| ]+\n((?:\|.*\n)+)/.exec(proseOf(page)) ?? [];
  return table
    .trim()
    .split("\n")
    .map((row) => row.split("|")[1]?.trim() ?? "");
};

const commandLine = () => ({
  commands: Object.fromEntries(
    commands.map(({ name, help }) => [
      name,
      [...new Set(help.match(/--[a-z][a-z-]*/g) ?? [])].sort(),
    ]),
  ),
  exitCodes: {
    serve: exitCodes("docs/operations.md"),
    embed: exitCodes("docs/embed-a-corpus.md"),
  },
});

/** A law compares the table with the metrics that are served. */
const metrics = () =>
  Object.fromEntries(
    rowsOf(sectionOf("docs/observability.md", "Metrics")).map(([name = "", type, labels]) => [
      name,
      { type, labels },
    ]),
  );

const schema = () =>
  withoutProse(z.toJSONSchema(fileSchema, { io: "input", unrepresentable: "any", reused: "ref" }));

describe("the contract is the one of its files:", () => {
  test.each<[string, () => unknown]>([
    ["api", api],
    ["admin-api", adminDocument],
    ["errors", errors],
    ["events", () => ({ events: Object.keys(eventTypes), jobs: jobEventTypes })],
    ["metrics", metrics],
    ["settings", settings],
    ["command-line", commandLine],
    ["ledger", () => firstCodes(sectionOf("docs/observability.md", "Request ledger"))],
    ["vexel-yaml", schema],
  ])("%s", async (name, contract) => {
    const path = join(import.meta.dir, `${name}.golden.json`);
    const text = `${JSON.stringify(await contract(), undefined, 1)}\n`;
    if (process.env.UPDATE_GOLDENS === "1") writeFileSync(path, text);
    const advice =
      "The contract changed. If that is intended: UPDATE_GOLDENS=1 npm test -- test/contract, and a line in CHANGELOG.md.";
    expect(existsSync(path), advice).toBe(true);
    // Not toBe: it would print both texts whole.
    expect(JSON.parse(text), advice).toEqual(JSON.parse(readFileSync(path, "utf8")));
  });
});
