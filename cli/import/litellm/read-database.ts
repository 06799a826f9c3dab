/**
 * Reads LiteLLM's PostgreSQL database, or an export of it: a JSON object with the rows of each table under the table's
 * name. Nothing is written there.
 */
import { readFileSync } from "node:fs";
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { UsageError } from "../../command.ts";
import { withPostgres } from "../postgres.ts";
import { isTrue } from "./column-values.ts";
import { type Decrypt, litellmDecryption } from "./decrypt.ts";
import { settingsOf } from "./read-config.ts";
import { restrictionOf } from "./site-losses.ts";
import { emptySource, environmentSection, jsonOf, type LitellmSource, objectOf } from "./source.ts";

/** The tables that decide what a key may do, with columns that every version has which can be read. */
const required = {
  LiteLLM_ProxyModelTable: ["model_name", "litellm_params"],
  LiteLLM_CredentialsTable: [],
  LiteLLM_VerificationToken: ["token", "models", "expires", "blocked", "user_id", "team_id"],
  LiteLLM_TeamTable: ["team_id", "models", "blocked"],
  LiteLLM_BudgetTable: ["budget_id"],
  LiteLLM_UserTable: ["user_id", "models"],
  LiteLLM_TeamMembership: ["user_id", "team_id", "budget_id"],
  LiteLLM_OrganizationTable: ["organization_id", "models", "budget_id"],
  LiteLLM_ModelTable: ["id"],
  LiteLLM_EndUserTable: ["user_id", "blocked", "budget_id"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

const requiredTables = Object.keys(required) as (keyof typeof required)[];

/** Tables that older versions of LiteLLM do not have. */
const optional: ReadonlySet<string> = new Set([
  "LiteLLM_Config",
  "LiteLLM_ProjectTable",
  "LiteLLM_AccessGroupTable",
  "LiteLLM_TagTable",
  "LiteLLM_ModelAccessGroupBudgetTable",
  "LiteLLM_GuardrailsTable",
  "LiteLLM_PolicyAttachmentTable",
  "LiteLLM_DeprecatedVerificationToken",
]);

const isRead = (table: string): boolean => optional.has(table) || Object.hasOwn(required, table);

/** A table of the log may have millions of rows: more are not counted. */
const mostCounted = 100_000;

type Tables = (table: string) => readonly JsonObject[];

export async function readLitellmDatabase(
  url: string,
  saltKey: string | undefined,
): Promise<LitellmSource> {
  try {
    return await withPostgres(url, async (sql) => {
      const present: { name: string }[] = await sql`
        SELECT table_name AS name FROM information_schema.tables
        WHERE table_schema = current_schema() AND starts_with(table_name, 'LiteLLM_')
          AND table_type = 'BASE TABLE' ORDER BY table_name`;
      const tables = new Map<string, readonly JsonObject[]>();
      refuseMissing(
        requiredTables.filter((table) => !present.some(({ name }) => name === table)),
        "LiteLLM's database",
      );
      for (const table of requiredTables) tables.set(table, await sql`SELECT * FROM ${sql(table)}`);
      const counts = new Map<string, number>();
      for (const { name } of present) {
        if (optional.has(name)) tables.set(name, await sql`SELECT * FROM ${sql(name)}`);
        else if (!isRead(name)) {
          const [row] = await sql`SELECT count(*)::int AS rows
            FROM (SELECT 1 FROM ${sql(name)} LIMIT ${mostCounted}) AS counted`;
          counts.set(name, row.rows);
        }
      }
      return fromTables((table) => tables.get(table) ?? [], counts, saltKey);
    });
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `LiteLLM's database cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
}

/** Without a path, nothing is read. */
export async function readLitellmExport(
  path: string | undefined,
  saltKey: string | undefined,
): Promise<LitellmSource> {
  if (path === undefined) return emptySource;
  let exported: JsonObject;
  try {
    exported = objectOf(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    throw new UsageError(
      `${path} cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
  const tables: Tables = (table) => rowsOf(exported[table] ?? [], `${path}: ${table}`);
  refuseMissing(
    requiredTables.filter((table) => !(table in exported)),
    path,
  );
  const others = Object.keys(exported).filter((table) => !isRead(table));
  const counts = new Map(others.map((table) => [table, tables(table).length]));
  return fromTables(tables, counts, saltKey);
}

/** Without one of them, a key could get more than it had. */
function refuseMissing(tables: readonly string[], where: string): void {
  if (tables.length > 0)
    throw new UsageError(
      `${where} does not have the ${tables.length === 1 ? "table" : "tables"} ${tables.join(", ")}: it is incomplete, or of another version of LiteLLM. An empty table is needed, too.`,
    );
}

/** Without one of them, a key could get more than it had. */
function refuseWithoutColumns(tables: Tables): void {
  for (const [table, columns] of Object.entries(required))
    for (const row of tables(table)) {
      const missing = columns.find((name) => !(name in row));
      if (missing !== undefined)
        throw new UsageError(
          `a row of ${table} does not have the column ${missing}: it is incomplete, or of another version of LiteLLM.`,
        );
    }
}

function rowsOf(value: unknown, where: string): readonly JsonObject[] {
  if (!Array.isArray(value)) throw new UsageError(`${where} must be a list of rows.`);
  const wrong = value.findIndex(
    (row) => typeof row !== "object" || row === null || Array.isArray(row),
  );
  if (wrong >= 0)
    throw new UsageError(`${where}[${wrong}] must be a row, a JSON object with its columns.`);
  return value;
}

async function fromTables(
  tables: Tables,
  otherTables: ReadonlyMap<string, number>,
  saltKey: string | undefined,
): Promise<LitellmSource> {
  refuseWithoutColumns(tables);
  const models = tables("LiteLLM_ProxyModelTable");
  const credentials = tables("LiteLLM_CredentialsTable");
  if (models.length + credentials.length > 0 && saltKey === undefined)
    throw new UsageError(
      "the models in LiteLLM's database are encrypted: set LITELLM_SALT_KEY, or LITELLM_MASTER_KEY if LiteLLM has no salt key.",
    );
  const decrypt = await litellmDecryption(saltKey ?? "");
  return {
    ...emptySource,
    ...storedSettings(tables("LiteLLM_Config"), decrypt),
    models: models.map(({ model_name, litellm_params, model_info, model_id, blocked }) => ({
      model_name: String(model_name),
      isBlocked: isTrue(blocked),
      litellm_params: decrypted(jsonOf(litellm_params), decrypt),
      model_info: jsonOf(model_info),
      where: `database, model ${model_id}`,
    })),
    credentials: new Map(
      credentials.map(({ credential_name, credential_values }) => [
        String(credential_name),
        decrypted(jsonOf(credential_values), decrypt),
      ]),
    ),
    keys: tables("LiteLLM_VerificationToken"),
    teams: tables("LiteLLM_TeamTable"),
    budgets: tables("LiteLLM_BudgetTable"),
    users: tables("LiteLLM_UserTable"),
    projects: tables("LiteLLM_ProjectTable"),
    accessGroups: tables("LiteLLM_AccessGroupTable"),
    members: tables("LiteLLM_TeamMembership"),
    organizations: tables("LiteLLM_OrganizationTable"),
    teamAliases: tables("LiteLLM_ModelTable"),
    tags: tables("LiteLLM_TagTable"),
    groupBudgets: tables("LiteLLM_ModelAccessGroupBudgetTable"),
    guardrails: tables("LiteLLM_GuardrailsTable").map((row) => ({
      ...row,
      litellm_params: jsonOf(row.litellm_params),
    })),
    policies: tables("LiteLLM_PolicyAttachmentTable"),
    endUsers: tables("LiteLLM_EndUserTable").filter((row) => restrictionOf(row) !== undefined),
    rotatedKeys: tables("LiteLLM_DeprecatedVerificationToken"),
    otherTables,
  };
}

/** Settings that were changed in LiteLLM's interface: sections of config.yaml. The values of variables are encrypted. */
function storedSettings(rows: readonly JsonObject[], decrypt: Decrypt) {
  const { [environmentSection]: variables, ...sections } = Object.fromEntries(
    rows.map(({ param_name, param_value }) => [String(param_name), jsonOf(param_value)]),
  );
  const { masterKey, ...settings } = settingsOf({
    ...sections,
    ...(variables && { [environmentSection]: decrypted(variables, decrypt) }),
  });
  return settings;
}

/** Ciphertext of a name: a nonce of 24 bytes, a tag of 16 bytes and at least one character. */
const ciphertext = /^(?:v2:gcm:.*|[\w-]{54,}={0,2})$/;

/** LiteLLM encrypts every text of the parameters. A text that is not encrypted is kept. */
function decrypted(values: JsonObject, decrypt: Decrypt): JsonObject {
  let failed = 0;
  let opened = 0;
  const entries = Object.entries(values).map(([name, value]) => {
    if (typeof value !== "string") return [name, value];
    const text = decrypt(value);
    if (text !== undefined) opened += 1;
    else if (ciphertext.test(value)) failed += 1;
    return [name, text ?? value];
  });
  // A key in plain text may look like a ciphertext.
  if (failed > 0 && opened === 0)
    throw new UsageError(
      "the models in LiteLLM's database cannot be decrypted with this LITELLM_SALT_KEY or LITELLM_MASTER_KEY.",
    );
  return Object.fromEntries(entries);
}
