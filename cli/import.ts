/** vexel import: moves models, keys, teams, limits and budgets of another gateway to Vexel. */
import { didYouMean } from "../server/lib/edit-distance.ts";
import { type Command, readArguments, UsageError, unknownAction } from "./command.ts";
import { isLoss, losses } from "./import/losses.ts";
import { printDetails, printPage } from "./import/print-report.ts";
import { printYaml, variablesNote } from "./import/print-yaml.ts";
import { Report } from "./import/report.ts";
import { runImport } from "./import/run-import.ts";
import { runSync } from "./import/run-sync.ts";
import { runVerify } from "./import/run-verify.ts";
import { totalsOf } from "./import/show-result.ts";
import { sources } from "./import/sources.ts";
import { writeError, writeOutput } from "./write.ts";

export const importCommand: Command = {
  name: "import",
  summary: "Move models and API keys from another gateway, or from a CSV.",
  help: `Usage: vexel import litellm [--config FILE] [--database URL | --export FILE]
       vexel import new-api [--database URL-OR-FILE | --export FILE]
                            [--quota-per-dollar N]
       vexel import bifrost --config FILE | --database FILE
       vexel import csv --file FILE
       all: [--accept NAME]... [--sync [--revoke N]] [--apply | --yaml]
             [--details | --json]
             [--verify URL [--keys FILE] [--paid]]

Without --apply nothing is written: the command reports on one page what it would import,
what it would not, and why. --details prints every field, --json the whole report as JSON.
--apply writes upstreams, models, projects and API keys to the data folder (VEXEL_DATA) or
the database (DATABASE_URL). What exists already is left as it is. API keys are imported
by their hash: clients keep their keys, and no key is shown.

No key becomes wider: a key that would lose a protection is not imported, unless --accept
names the kind of protection (the names are in the report). No key gets other vectors: a
name that stands for another model in requests of the key is left out of its models.

--sync follows an import: keys that were blocked, deleted or lowered there since are ended,
revoked or lowered here, and nothing becomes wider. --accept new-models adds models that
were added there. A sync that would end or revoke more than 10 keys or 5 % of them needs
--revoke with their number.

--verify compares the import with the other gateway at URL, which is running. Keys in FILE
(one in each line) are tried there: with embeddings requests that are refused before a
vendor gets them, and with the list of models. Others are read from LiteLLM's admin API with
LITELLM_MASTER_KEY. --paid also embeds one short text with each model on both gateways, and
compares the vectors: Vexel must be running at PORT with these keys.

--config is config.yaml of LiteLLM, or config.json of Bifrost. --database is the address of
the PostgreSQL database of the other gateway, or the SQLite file of new-api or Bifrost;
--export is a JSON file with its tables. LITELLM_SALT_KEY (or LITELLM_MASTER_KEY) decrypts
the models in LiteLLM's database. --quota-per-dollar is the quota of one US dollar in new-api (default 500000).
--file is a CSV with a row for each key, as "vexel export" writes it: name, key (the key
itself or its SHA-256 in hex), project, models (separated by spaces), limits and budgets.
--yaml prints the upstreams, models and projects as vexel.yaml instead, with variables
instead of secrets.`,
  run: async (args) => {
    const { values, positionals } = readArguments(args, {
      config: { type: "string" },
      database: { type: "string" },
      export: { type: "string" },
      "quota-per-dollar": { type: "string" },
      file: { type: "string" },
      accept: { type: "string", multiple: true },
      verify: { type: "string" },
      keys: { type: "string" },
      paid: { type: "boolean" },
      sync: { type: "boolean" },
      revoke: { type: "string" },
      apply: { type: "boolean" },
      yaml: { type: "boolean" },
      details: { type: "boolean" },
      json: { type: "boolean" },
    });
    const [from, unexpected] = positionals;
    if (unexpected !== undefined) throw new UsageError(`unexpected argument "${unexpected}".`);
    const read = sources[from ?? ""];
    if (!read || from === undefined)
      throw unknownAction(from, Object.keys(sources) as [string, string, ...string[]]);
    refuseBoth(values);
    const { apply = false, yaml = false, sync = false, json = false, details = false } = values;
    if (values.revoke !== undefined && !sync)
      throw new UsageError("--revoke is an option of --sync.");
    if ((values.keys !== undefined || values.paid) && values.verify === undefined)
      throw new UsageError("--keys and --paid are options of --verify.");
    const accepted = acceptedOf(values.accept ?? [], sync);
    const now = Date.now();
    const planner = await read(values, { env: process.env, now });
    const options = { accepted, apply, json, details, now };
    if (values.verify !== undefined) {
      const { verify: url, keys, paid = false } = values;
      return runVerify(planner, { accepted, url, keys, paid, json, env: process.env });
    }
    if (sync) return runSync(planner, { ...options, revoke: numberOf(values.revoke) });
    if (!yaml) return runImport(planner, options);
    const report = new Report(accepted);
    const plan = planner(report);
    const { text, newVariables } = printYaml(plan);
    writeOutput(text);
    const { lines } = report;
    const shown = details ? printDetails(lines) : printPage(lines, totalsOf(plan));
    writeError(`${shown}\n${variablesNote(newVariables)}`);
    return 0;
  },
};

const exclusive = [
  ["apply", "yaml"],
  ["details", "json"],
  ["sync", "yaml"],
  ["database", "export"],
  ["verify", "apply"],
  ["verify", "yaml"],
  ["verify", "sync"],
] as const;

function refuseBoth(
  values: Readonly<Partial<Record<(typeof exclusive)[number][number], unknown>>>,
): void {
  for (const [one, other] of exclusive)
    if (values[one] !== undefined && values[other] !== undefined)
      throw new UsageError(`use --${one} or --${other}, not both.`);
}

/** The name that --accept has beside the protections. */
const newModels = "new-models";

function acceptedOf(names: readonly string[], sync: boolean): ReadonlySet<string> {
  for (const name of names) {
    if (name === newModels && !sync)
      throw new UsageError("--accept new-models is an option of --sync.");
    if (name === newModels || isLoss(name)) continue;
    const known = [...Object.keys(losses), newModels];
    const meant = didYouMean(name, known, (own) => own);
    throw new UsageError(
      `--accept ${JSON.stringify(name)} is no kind of protection${meant}. The kinds are ${known.join(", ")}.`,
    );
  }
  return new Set(names);
}

function numberOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`--revoke must be the number of keys, not "${text}".`);
}
