/**
 * Reads the database of new-api (SQLite or PostgreSQL), or an export of it: a JSON object with the rows of each table
 * under the table's name. Nothing is written there.
 */
import { Database } from "bun:sqlite";
import { existsSync, readFileSync } from "node:fs";
import type { JsonObject } from "../../../server/storage/sql/config-entity-store.ts";
import { UsageError } from "../../command.ts";
import { withPostgres } from "../postgres.ts";
import { numberOf } from "./values.ts";

export interface NewApiSource {
  readonly channels: readonly JsonObject[];
  readonly tokens: readonly JsonObject[];
  /** The owners of the tokens: `username`, `group`, `status`, `quota` and `deleted_at`. */
  readonly users: readonly JsonObject[];
  /** The site's options by name. An option that is absent has its default. */
  readonly options: ReadonlyMap<string, string>;
  /** `QuotaPerUnit`: the quota of one US dollar, if the site has changed it. NaN: it is not a number above 0. */
  readonly quotaPerUnit: number | undefined;
  /** `ModelRatio`: for a model, 1 is 2 US dollars per million tokens. */
  readonly ratios: ReadonlyMap<string, number>;
  /** `ModelPrice`: US dollars of a request. */
  readonly prices: ReadonlyMap<string, number>;
}

type Query = (sql: string) => Promise<readonly JsonObject[]>;

export async function readNewApiDatabase(address: string): Promise<NewApiSource> {
  try {
    if (/^postgres(ql)?:\/\//.test(address))
      return await withPostgres(address, (sql) => readTables((query) => sql.unsafe(query)));
    if (/^\w+:\/\//.test(address))
      throw new UsageError(
        "--database must be a PostgreSQL address or a SQLite file. Export a MySQL database as JSON, and use --export.",
      );
    if (!existsSync(address)) throw new UsageError(`${address} does not exist.`);
    using database = new Database(address, { readonly: true });
    return await readTables(async (query) =>
      database.query<JsonObject, []>(query).all().map(withTexts),
    );
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `new-api's database cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
}

/** GORM writes JSON in a column of type BLOB. */
const withTexts = (row: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      value instanceof Uint8Array ? new TextDecoder().decode(value) : value,
    ]),
  );

async function readTables(query: Query): Promise<NewApiSource> {
  return fromRows(
    await query("SELECT * FROM channels ORDER BY id"),
    await query("SELECT * FROM tokens ORDER BY id"),
    await query("SELECT * FROM options"),
    await query("SELECT * FROM users ORDER BY id"),
  );
}

export function readNewApiExport(path: string): NewApiSource {
  let exported: JsonObject;
  try {
    exported = JSON.parse(readFileSync(path, "utf8")) as JsonObject;
  } catch (error) {
    throw new UsageError(
      `${path} cannot be read: ${error instanceof Error ? error.message : error}`,
    );
  }
  const rows = (table: string): readonly JsonObject[] =>
    Array.isArray(exported?.[table]) ? (exported[table] as JsonObject[]) : [];
  if (rows("channels").length + rows("tokens").length === 0)
    throw new UsageError(`${path} has neither channels nor tokens.`);
  if (rows("tokens").length > 0 && rows("users").length === 0)
    throw new UsageError(
      `${path} has tokens and no users. Export the table users too: tokens of disabled users are left out.`,
    );
  return fromRows(rows("channels"), rows("tokens"), rows("options"), rows("users"));
}

/** Without one of them, a token could get more than it had. */
function refuseWithoutColumns(
  table: string,
  rows: readonly JsonObject[],
  columns: readonly string[],
): void {
  const missing = columns.find((name) => rows.some((row) => !(name in row)));
  if (missing !== undefined)
    throw new UsageError(
      `a row of ${table} does not have the column ${missing}: it is incomplete, or not of new-api.`,
    );
}

function fromRows(
  channels: readonly JsonObject[],
  tokens: readonly JsonObject[],
  options: readonly JsonObject[],
  users: readonly JsonObject[],
): NewApiSource {
  refuseWithoutColumns("tokens", tokens, ["model_limits_enabled", "model_limits", "group"]);
  refuseWithoutColumns("users", users, ["group", "status"]);
  refuseWithoutColumns("channels", channels, ["group", "models"]);
  const quota = options.find(({ key }) => key === "QuotaPerUnit");
  const perUnit = numberOf(quota?.value, Number.NaN) ?? Number.NaN;
  return {
    channels,
    tokens: tokens.filter(({ deleted_at }) => deleted_at === null || deleted_at === undefined),
    users,
    options: new Map(options.map(({ key, value }) => [String(key), String(value ?? "")])),
    quotaPerUnit: quota && (perUnit > 0 ? perUnit : Number.NaN),
    ratios: numbersIn(options, "ModelRatio"),
    prices: numbersIn(options, "ModelPrice"),
  };
}

/** An option that is a JSON object with a number for each model. */
function numbersIn(options: readonly JsonObject[], name: string): ReadonlyMap<string, number> {
  const text = options.find(({ key }) => key === name)?.value;
  try {
    const entries = Object.entries(JSON.parse(String(text ?? "{}")) as JsonObject);
    return new Map(
      entries.flatMap(([model, value]) =>
        typeof value === "number" && value >= 0 ? [[model, value] as const] : [],
      ),
    );
  } catch {
    return new Map();
  }
}
