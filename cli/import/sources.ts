/** The gateways that can be imported: how each is read, and the options that it takes. */
import type { JsonObject } from "../../server/storage/sql/config-entity-store.ts";
import { UsageError } from "../command.ts";
import { planBifrost } from "./bifrost/plan.ts";
import { readBifrostConfig, readBifrostDatabase } from "./bifrost/read.ts";
import { planCsv, readKeyRows } from "./csv/read-csv.ts";
import { planLitellm } from "./litellm/plan.ts";
import { readLitellmConfig } from "./litellm/read-config.ts";
import { readLitellmDatabase, readLitellmExport } from "./litellm/read-database.ts";
import { emptySource, joinSources } from "./litellm/source.ts";
import { losses } from "./losses.ts";
import { planNewApi } from "./new-api/plan.ts";
import { readNewApiDatabase, readNewApiExport } from "./new-api/read.ts";
import type { ImportPlan, Secret } from "./plan.ts";
import { Report } from "./report.ts";

export interface SourceOptions {
  readonly config?: string | undefined;
  readonly database?: string | undefined;
  readonly export?: string | undefined;
  readonly "quota-per-dollar"?: string | undefined;
  readonly file?: string | undefined;
}

interface Environment {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Unix milliseconds. */
  readonly now: number;
}

/** The source has been read: plans the import, and reports what becomes of every field. */
export interface Planner {
  (report: Report): ImportPlan;
  /** Of LiteLLM: the rows of its keys, and the plan with other rows. */
  readonly keyRows?: readonly JsonObject[];
  readonly withKeys?: (rows: readonly JsonObject[]) => ImportPlan;
}

type Reader = (options: SourceOptions, environment: Environment) => Promise<Planner>;

export const sources: Readonly<Record<string, Reader>> = {
  litellm: readLitellm,
  "new-api": readNewApi,
  bifrost: readBifrost,
  csv: readKeysFromCsv,
};

/** Throws UsageError for an option that is one of another source. */
function refuseOptions(
  source: string,
  options: SourceOptions,
  others: readonly (keyof SourceOptions)[],
): void {
  const given = others.find((name) => options[name] !== undefined);
  if (given !== undefined) throw new UsageError(`--${given} is no option of "${source}".`);
}

async function readLitellm(options: SourceOptions, { env, now }: Environment): Promise<Planner> {
  refuseOptions("litellm", options, ["quota-per-dollar", "file"]);
  const { config, database, export: exported } = options;
  if (config === undefined && database === undefined && exported === undefined)
    throw new UsageError("name LiteLLM's --config, --database or --export.");
  const file = config === undefined ? emptySource : readLitellmConfig(config);
  const saltKey = env.LITELLM_SALT_KEY || env.LITELLM_MASTER_KEY || undefined;
  const rows = await (database === undefined
    ? readLitellmExport(exported, saltKey)
    : readLitellmDatabase(database, saltKey));
  const source = joinSources(file, rows);
  const resolve = ({ text, variable }: Secret) => text ?? (env[variable ?? ""] || undefined);
  return Object.assign((report: Report) => planLitellm(source, report, resolve, now), {
    keyRows: source.keys,
    // What the user accepts does not matter: only keys of the plan are compared.
    withKeys: (keys: readonly JsonObject[]) =>
      planLitellm({ ...source, keys }, new Report(new Set(Object.keys(losses))), resolve, now),
  });
}

/** new-api's default of `QuotaPerUnit`. */
const defaultQuotaPerDollar = 500_000;

async function readNewApi(options: SourceOptions, { now }: Environment): Promise<Planner> {
  refuseOptions("new-api", options, ["config", "file"]);
  const { database, export: exported, "quota-per-dollar": quota } = options;
  if (database === undefined && exported === undefined)
    throw new UsageError("name new-api's --database or --export.");
  const perDollar = quota === undefined ? undefined : Number(quota);
  if (perDollar !== undefined && !(perDollar > 0 && Number.isFinite(perDollar)))
    throw new UsageError(`--quota-per-dollar must be a number above 0, not "${quota}".`);
  const source =
    database === undefined ? readNewApiExport(exported ?? "") : await readNewApiDatabase(database);
  if (perDollar === undefined && Number.isNaN(source.quotaPerUnit))
    throw new UsageError(
      "new-api's option QuotaPerUnit is not a number above 0: name --quota-per-dollar.",
    );
  return (report) =>
    planNewApi(source, report, {
      quotaPerDollar: perDollar ?? source.quotaPerUnit ?? defaultQuotaPerDollar,
      isConfirmed: perDollar !== undefined,
      now,
    });
}

/** The database has what config.json had when Bifrost started, and what was changed since. */
async function readBifrost(options: SourceOptions, { env, now }: Environment): Promise<Planner> {
  refuseOptions("bifrost", options, ["export", "quota-per-dollar", "file"]);
  const { config, database } = options;
  if ((config === undefined) === (database === undefined))
    throw new UsageError("name Bifrost's --config or --database, and not both.");
  const source =
    database === undefined ? readBifrostConfig(config ?? "") : readBifrostDatabase(database);
  return (report) => planBifrost(source, report, (name) => env[name] || undefined, now);
}

async function readKeysFromCsv(options: SourceOptions, { now }: Environment): Promise<Planner> {
  refuseOptions("csv", options, ["config", "database", "export", "quota-per-dollar"]);
  const { file } = options;
  if (file === undefined) throw new UsageError("name the --file with the keys.");
  const rows = await readKeyRows(file);
  return (report) => planCsv(file, rows, report, now);
}
