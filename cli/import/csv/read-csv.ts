/** Reads API keys from a CSV: names, keys or their SHA-256, projects, models, limits and budgets. */
import { existsSync } from "node:fs";
import { keyBody } from "../../../contract/schemas/keys.ts";
import { settingsOf } from "../../../server/admin/key-settings.ts";
import { didYouMean } from "../../../server/lib/edit-distance.ts";
import { secretHash } from "../../../server/lib/secret-hash.ts";
import { UsageError } from "../../command.ts";
import { readCsv } from "../../embed/input/read-csv.ts";
import { type ImportPlan, importedKeyId, type PlannedKey } from "../plan.ts";
import type { Report } from "../report.ts";
import { budgetColumns, type CsvColumn, csvColumns, isCsvColumn, limitColumns } from "./columns.ts";

type Row = Readonly<Partial<Record<CsvColumn, string>>>;

/** The rows of the file. Throws UsageError for a file that is no CSV of keys. */
export async function readKeyRows(path: string): Promise<readonly Row[]> {
  if (path !== "-" && !existsSync(path)) throw new UsageError(`${path} does not exist.`);
  const rows: Row[] = [];
  for await (const { columns, problem } of readCsv(path)) {
    if (rows.length === 0) checkColumns(path, Object.keys(columns));
    if (problem !== undefined) throw new UsageError(`${path}, row ${rows.length + 1}: ${problem}`);
    rows.push(columns as Row);
  }
  if (rows.length === 0) throw new UsageError(`${path} has no keys.`);
  return rows;
}

function checkColumns(path: string, names: readonly string[]): void {
  for (const name of names) {
    if (isCsvColumn(name)) continue;
    const meant = didYouMean(name, csvColumns, (known) => known);
    throw new UsageError(
      `${path} has the column ${JSON.stringify(name)}${meant}. The columns are ${csvColumns.join(", ")}.`,
    );
  }
  for (const name of ["name", "key", "models"])
    if (!names.includes(name)) throw new UsageError(`${path} has no column "${name}".`);
}

/** `now`: Unix milliseconds. Throws UsageError for a value that a key cannot have: nothing is written. */
export function planCsv(
  path: string,
  rows: readonly Row[],
  report: Report,
  now: number,
): ImportPlan {
  const all = rows.map((row, at) => hashOf(row.key ?? "", `${path}, row ${at + 1}`));
  const keys = rows.flatMap((row, at): PlannedKey[] => {
    const where = `${path}, row ${at + 1}`;
    const hash = all[at] ?? "";
    if (all.indexOf(hash) !== at)
      throw new UsageError(`${where}: its key is that of row ${all.indexOf(hash) + 1}.`);
    const about = report.about(`key ${JSON.stringify(row.name)}`);
    const parsed = keyBody.safeParse(bodyOf(row));
    if (!parsed.success) {
      const [{ path: field, message } = { path: [], message: "" }] = parsed.error.issues;
      throw new UsageError(`${where}: ${columnOf(field)}: ${message}.`);
    }
    const settings = settingsOf(parsed.data);
    if (settings.expiresAt !== undefined && settings.expiresAt <= now) {
      about.refused(`the key expired at ${new Date(settings.expiresAt).toISOString()}`);
      return [];
    }
    const { name, models } = parsed.data;
    about.carried("key", "by its hash: clients keep the key");
    const { limits, budget, expiresAt } = settings;
    return [
      {
        id: importedKeyId(hash),
        name,
        hash,
        hint: row.hint?.trim().slice(0, 16) || hash.slice(0, 10),
        models,
        createdAt: now,
        ...settings,
        imported: {
          source: "csv",
          models,
          ...(limits && { limits }),
          ...(budget && { budget: amountsOf(budget) }),
          ...(expiresAt !== undefined && { expiresAt }),
        },
      },
    ];
  });
  const [upstreams, models, projects] = [new Map(), new Map(), new Map()];
  return { source: "csv", sourceHashes: new Set(all), upstreams, models, projects, keys };
}

const amountsOf = ({ unknownPrice, ...amounts }: NonNullable<PlannedKey["budget"]>) => amounts;

const shortestKey = 16;

function hashOf(given: string, where: string): string {
  const text = given.trim();
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase();
  if (text.length >= shortestKey && !/\s/.test(text)) return secretHash(text);
  throw new UsageError(
    `${where}: key must be a key of at least ${shortestKey} characters, or its SHA-256 in hex.`,
  );
}

const numbersOf = (row: Row, columns: Readonly<Record<string, string>>) => {
  const values = Object.entries(columns).flatMap(([column, name]) => {
    const text = row[column as CsvColumn]?.trim() ?? "";
    // The schema refuses a text that is not a number.
    return text === "" ? [] : [[name, Number.isNaN(Number(text)) ? text : Number(text)]];
  });
  return values.length === 0 ? undefined : (Object.fromEntries(values) as object);
};

/** The row as a body of the admin API, whose schema checks it. */
function bodyOf(row: Row): unknown {
  const text = (column: CsvColumn): string | undefined => row[column]?.trim() || undefined;
  const budget = numbersOf(row, budgetColumns);
  const [embedding, image] = [text("default_embedding"), text("default_image")];
  return {
    name: text("name"),
    // An empty cell is no permission.
    models: text("models")?.split(/\s+/) ?? [],
    project: text("project"),
    limits: numbersOf(row, limitColumns),
    budget: budget && { ...budget, unknownPrice: text("unknown_price") },
    expires: text("expires"),
    defaults: embedding || image ? { embedding, image } : undefined,
    parameters: text("parameters"),
    priority: text("priority"),
    showCost: text("show_cost") === undefined ? undefined : text("show_cost") === "true",
  };
}

const columnOf = (field: readonly PropertyKey[]): string => {
  const [first, second] = field.map(String);
  const columns = Object.entries({ ...limitColumns, ...budgetColumns });
  return columns.find(([, name]) => name === second)?.[0] ?? first ?? "";
};
