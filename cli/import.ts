/** vexel import: moves models, keys, teams, limits and budgets of another gateway to Vexel. */
import { EntityRefused } from "../server/config/entities/config-entities.ts";
import { ownCommand } from "../server/process/own-command.ts";
import {
  type Command,
  readArguments,
  settingsOrUsage,
  table,
  UsageError,
  unknownAction,
} from "./command.ts";
import { entitiesOf } from "./config.ts";
import { applyPlan } from "./import/apply.ts";
import { planLitellm } from "./import/litellm/plan.ts";
import { readLitellmConfig } from "./import/litellm/read-config.ts";
import { readLitellmDatabase, readLitellmExport } from "./import/litellm/read-database.ts";
import { emptySource, joinSources, type LitellmSource } from "./import/litellm/source.ts";
import { planNewApi } from "./import/new-api/plan.ts";
import { readNewApiDatabase, readNewApiExport } from "./import/new-api/read.ts";
import type { ImportPlan, Secret } from "./import/plan.ts";
import { printYaml } from "./import/print-yaml.ts";
import { printReport, Report } from "./import/report.ts";
import { openEntities, openKeys } from "./open-stores.ts";
import { writeError, writeOutput } from "./write.ts";

export const importCommand: Command = {
  name: "import",
  summary: "Move models and API keys from LiteLLM or new-api.",
  help: `Usage: vexel import litellm [--config FILE] [--database URL | --export FILE]
                            [--apply | --yaml] [--json]
       vexel import new-api [--database URL-OR-FILE | --export FILE]
                            [--quota-per-dollar N] [--apply | --yaml] [--json]

Without --apply nothing is written: the command reports what it would import, and what
becomes of every field: carried, approximated, or dropped and why. --apply writes
upstreams, models, projects and API keys to the data folder (VEXEL_DATA) or the database
(DATABASE_URL). What exists already is left as it is. API keys are imported by their
hash: clients keep their keys, and no key is shown.

--config is config.yaml of LiteLLM. --database is the address of the PostgreSQL database
of the other gateway, or the SQLite file of new-api; --export is a JSON file with its
tables. LITELLM_SALT_KEY (or LITELLM_MASTER_KEY) decrypts the models in LiteLLM's
database. --quota-per-dollar is the quota of one US dollar in new-api (default 500000).
--yaml prints the upstreams, models and projects as vexel.yaml instead, with variables
instead of secrets. --json prints the report as JSON.`,
  run: async (args) => {
    const { values, positionals } = readArguments(args, {
      config: { type: "string" },
      database: { type: "string" },
      export: { type: "string" },
      "quota-per-dollar": { type: "string" },
      apply: { type: "boolean" },
      yaml: { type: "boolean" },
      json: { type: "boolean" },
    });
    const [from, unexpected] = positionals;
    if (unexpected !== undefined) throw new UsageError(`unexpected argument "${unexpected}".`);
    if (values.apply && values.yaml) throw new UsageError("use --apply or --yaml, not both.");
    if (values.database !== undefined && values.export !== undefined)
      throw new UsageError("use --database or --export, not both.");
    const report = new Report();
    const plan = await readPlan(from, values, report);
    return present(plan, report, values);
  },
};

interface Values {
  readonly config?: string | undefined;
  readonly database?: string | undefined;
  readonly export?: string | undefined;
  readonly "quota-per-dollar"?: string | undefined;
  readonly apply?: boolean | undefined;
  readonly yaml?: boolean | undefined;
  readonly json?: boolean | undefined;
}

const resolve = ({ text, variable }: Secret): string | undefined =>
  text ?? (process.env[variable ?? ""] || undefined);

function readPlan(from: string | undefined, values: Values, report: Report): Promise<ImportPlan> {
  switch (from) {
    case "litellm":
      return fromLitellm(values, report);
    case "new-api":
      return fromNewApi(values, report);
    default:
      throw unknownAction(from, ["litellm", "new-api"]);
  }
}

async function fromLitellm(values: Values, report: Report): Promise<ImportPlan> {
  const { config, database, export: exported } = values;
  if (config === undefined && database === undefined && exported === undefined)
    throw new UsageError("name LiteLLM's --config, --database or --export.");
  if (values["quota-per-dollar"] !== undefined)
    throw new UsageError('--quota-per-dollar is an option of "new-api".');
  const file = config === undefined ? emptySource : readLitellmConfig(config);
  const saltKey = process.env.LITELLM_SALT_KEY || process.env.LITELLM_MASTER_KEY || undefined;
  const rows = await readRows(values, saltKey);
  return planLitellm(joinSources(file, rows), report, resolve, Date.now());
}

function readRows(
  { database, export: exported }: Values,
  saltKey: string | undefined,
): Promise<LitellmSource> {
  if (database !== undefined) return readLitellmDatabase(database, saltKey);
  if (exported !== undefined) return readLitellmExport(exported, saltKey);
  return Promise.resolve(emptySource);
}

/** new-api's default of `QuotaPerUnit`. */
const defaultQuotaPerDollar = 500_000;

async function fromNewApi(values: Values, report: Report): Promise<ImportPlan> {
  const { config, database, export: exported, "quota-per-dollar": quota } = values;
  if (config !== undefined) throw new UsageError('--config is an option of "litellm".');
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
  return planNewApi(source, report, {
    quotaPerDollar: perDollar ?? source.quotaPerUnit ?? defaultQuotaPerDollar,
    isConfirmed: perDollar !== undefined,
    now: Date.now(),
  });
}

async function present(plan: ImportPlan, report: Report, values: Values): Promise<number> {
  if (values.yaml) {
    const { text, newVariables } = printYaml(plan);
    writeOutput(text);
    writeError(`${printReport(report)}\n${variablesNote(newVariables)}`);
    return 0;
  }
  const applied = values.apply ? await apply(plan) : undefined;
  if (values.json) {
    const { keys, ...entities } = plan;
    const counts = { ...sizes(entities), keys: keys.length };
    writeOutput(`${JSON.stringify({ counts, lines: report.lines, applied }, null, 2)}\n`);
  } else {
    writeOutput(`${printReport(report)}\n\n${applied ? printApplied(applied) : dryRunNote(plan)}`);
  }
  return applied?.some(({ result }) => result === "refused") ? 1 : 0;
}

const sizes = ({ upstreams, models, projects }: Omit<ImportPlan, "keys">) => ({
  upstreams: upstreams.size,
  models: models.size,
  projects: projects.size,
});

const dryRunNote = ({ upstreams, models, projects, keys }: ImportPlan): string =>
  `Nothing was written. --apply creates ${upstreams.size} upstreams, ${models.size} models, ${projects.size} projects and ${keys.length} API keys.\n`;

const variablesNote = (names: readonly string[]): string =>
  names.length === 0
    ? ""
    : `Set these variables to the secrets of the other gateway: ${names.join(", ")}.\n`;

type Applied = Awaited<ReturnType<typeof applyPlan>>;

function printApplied(applied: Applied): string {
  const rows = applied.map(({ kind, id, result, reason }) => [kind, id, result, reason]);
  const refused = applied.filter(({ result }) => result === "refused").length;
  const note =
    refused === 0
      ? ""
      : `${refused} of ${applied.length} were refused. Correct the cause and run the command again.\n`;
  return `${table([["KIND", "ID", "RESULT", "REASON"], ...rows])}\n${note}"${ownCommand("models")}" lists the models.\n`;
}

async function apply(plan: ImportPlan): Promise<Applied> {
  const settings = settingsOrUsage();
  const keys = await openKeys(settings, true);
  try {
    const entities = await openEntities(settings);
    try {
      return await applyPlan(plan, { entities: entitiesOf(entities, settings), keys, resolve });
    } catch (error) {
      if (error instanceof EntityRefused) throw new UsageError(error.message, "settings");
      throw error;
    } finally {
      await entities.close();
    }
  } finally {
    await keys.close();
  }
}
