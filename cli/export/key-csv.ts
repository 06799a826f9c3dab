/** API keys as CSV: by their hash, so that clients keep their keys at the next gateway. */
import type { KeySettings } from "../../server/storage/sql/stored-key.ts";
import { budgetColumns, type CsvColumn, csvColumns, limitColumns } from "../import/csv/columns.ts";

export interface ExportedKey extends Omit<KeySettings, "defaults"> {
  readonly name: string;
  readonly hash: string;
  readonly hint: string;
  readonly models: readonly string[];
  readonly defaults?: {
    readonly embedding?: string | undefined;
    readonly image?: string | undefined;
  };
}

export const keyCsv = (keys: readonly ExportedKey[]): string =>
  [csvColumns, ...keys.map(rowOf)].map((cells) => `${cells.map(cell).join(",")}\r\n`).join("");

const cell = (text: string): string =>
  /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;

function rowOf(key: ExportedKey): readonly string[] {
  const { limits = {}, budget, defaults = {}, expiresAt } = key;
  const number = (value: number | undefined): string => (value === undefined ? "" : String(value));
  const limitCells = Object.entries(limitColumns).map(([column, name]) => [
    column,
    number(limits[name]),
  ]);
  const cells: Record<CsvColumn, string> = {
    ...(Object.fromEntries(limitCells) as Record<keyof typeof limitColumns, string>),
    name: key.name,
    key: key.hash,
    project: key.project ?? "",
    models: key.models.join(" "),
    budget_day: number(budget?.[budgetColumns.budget_day]),
    budget_month: number(budget?.[budgetColumns.budget_month]),
    budget_total: number(budget?.[budgetColumns.budget_total]),
    unknown_price: budget?.unknownPrice ?? "",
    expires: expiresAt === undefined ? "" : new Date(expiresAt).toISOString(),
    default_embedding: defaults.embedding ?? "",
    default_image: defaults.image ?? "",
    parameters: key.parameters ?? "",
    priority: key.priority ?? "",
    show_cost: key.showCost ? "true" : "",
    hint: key.hint,
  };
  return csvColumns.map((name) => cells[name]);
}
