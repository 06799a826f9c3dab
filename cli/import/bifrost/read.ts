/** Reads Bifrost's config.json, or its SQLite database (config.db). Nothing is written there. */
import { Database } from "bun:sqlite";
import { existsSync, readFileSync } from "node:fs";
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { UsageError } from "../../command.ts";
import { type BifrostSource, objectIn, objectsIn } from "./source.ts";

export function readBifrostConfig(path: string): BifrostSource {
  let config: JsonObject;
  try {
    config = JSON.parse(readFileSync(path, "utf8")) as JsonObject;
  } catch (error) {
    throw new UsageError(
      `${path} cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
  const providers = objectIn(objectIn(config).providers);
  if (Object.keys(providers).length === 0)
    throw new UsageError(`${path} is no configuration of Bifrost: it has no providers.`);
  const governance = objectIn(config.governance);
  return {
    providers: new Map(Object.entries(providers).map(([name, own]) => [name, objectIn(own)])),
    virtualKeys: objectsIn(governance.virtual_keys),
    teams: objectsIn(governance.teams),
    customers: objectsIn(governance.customers),
    budgets: objectsIn(governance.budgets),
    rateLimits: objectsIn(governance.rate_limits),
    modelConfigs: objectsIn(governance.model_configs),
    routingRules: objectsIn(governance.routing_rules),
    plugins: objectsIn(config.plugins),
  };
}

/** Every version that can be read has these columns: without one, a key could get more than it had. */
const required = {
  config_providers: ["id", "name", "network_config_json"],
  config_keys: ["provider_id", "key_id", "value", "models_json"],
  governance_virtual_keys: ["id", "value", "is_active", "team_id", "customer_id", "rate_limit_id"],
  governance_virtual_key_provider_configs: [
    "id",
    "virtual_key_id",
    "provider",
    "allowed_models",
    "allow_all_keys",
  ],
  governance_virtual_key_provider_config_keys: [],
  governance_budgets: ["id", "max_limit", "reset_duration", "virtual_key_id", "team_id"],
  governance_rate_limits: ["id", "request_max_limit", "token_max_limit"],
  governance_teams: ["id", "name"],
  governance_customers: ["id", "name"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

export function readBifrostDatabase(path: string): BifrostSource {
  if (!existsSync(path)) throw new UsageError(`${path} does not exist.`);
  try {
    using database = new Database(path, { readonly: true });
    return fromTables((table) => rowsOf(database, table));
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `Bifrost's database cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
}

function rowsOf(database: Database, table: string): readonly JsonObject[] {
  const columns = database
    .query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?)")
    .all(table)
    .map(({ name }) => name);
  const needed: readonly string[] | undefined = required[table as keyof typeof required];
  if (columns.length === 0 && needed === undefined) return [];
  const missing = columns.length === 0 ? table : needed?.find((name) => !columns.includes(name));
  if (missing !== undefined)
    throw new UsageError(
      `Bifrost's database does not have ${columns.length === 0 ? "" : `${table}.`}${missing}: it is incomplete, or of another version.`,
    );
  return database.query<JsonObject, []>(`SELECT * FROM ${table}`).all().map(withJson);
}

/** Columns with JSON have it as text, or as bytes. */
const withJson = (row: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      const text = value instanceof Uint8Array ? new TextDecoder().decode(value) : value;
      const isJson = typeof text === "string" && /^\s*[[{]/.test(text);
      return [name.replace(/_json$/, ""), isJson ? parsed(text) : text];
    }),
  );

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

type Tables = (table: string) => readonly JsonObject[];

function fromTables(tables: Tables): BifrostSource {
  const budgets = tables("governance_budgets");
  const budgetsOf = (column: string, id: unknown) =>
    budgets.filter((row) => row[column] !== null && row[column] === id);
  const keys = Map.groupBy(tables("config_keys"), ({ provider_id }) => provider_id);
  const keyIds = new Map(tables("config_keys").map(({ id, key_id }) => [id, key_id]));
  const allowed = Map.groupBy(
    tables("governance_virtual_key_provider_config_keys"),
    (row) => row.table_virtual_key_provider_config_id,
  );
  const configs = Map.groupBy(
    tables("governance_virtual_key_provider_configs").map((row) => ({
      ...row,
      budgets: budgetsOf("provider_config_id", row.id),
      key_ids: row.allow_all_keys
        ? ["*"]
        : (allowed.get(row.id) ?? []).map(({ table_key_id }) => keyIds.get(table_key_id)),
    })),
    (row) => (row as JsonObject).virtual_key_id,
  );
  return {
    providers: new Map(
      tables("config_providers").map((row) => [
        String(row.name),
        { ...row, keys: (keys.get(row.id) ?? []).map((key) => ({ ...key, id: key.key_id })) },
      ]),
    ),
    virtualKeys: tables("governance_virtual_keys").map((row) => ({
      ...row,
      is_active: row.is_active !== 0 && row.is_active !== false,
      provider_configs: configs.get(row.id) ?? [],
      budgets: budgetsOf("virtual_key_id", row.id),
    })),
    teams: tables("governance_teams").map((row) => ({
      ...row,
      budgets: budgetsOf("team_id", row.id),
    })),
    customers: tables("governance_customers").map((row) => ({
      ...row,
      budgets: budgetsOf("customer_id", row.id),
    })),
    budgets,
    rateLimits: tables("governance_rate_limits"),
    modelConfigs: tables("governance_model_configs").map((row) => ({
      ...row,
      budgets: budgetsOf("model_config_id", row.id),
    })),
    routingRules: tables("routing_rules").map((row) => ({ ...row, enabled: row.enabled !== 0 })),
    plugins: tables("config_plugins").map((row) => ({ ...row, enabled: row.enabled !== 0 })),
  };
}
