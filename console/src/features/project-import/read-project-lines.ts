/**
 * Reads projects and members from CSV. The first line names the columns. Every line that is not valid is kept with the
 * reason, so that no line is lost.
 */
import { projectRoles, type Role } from "../../../../contract/admin/roles.ts";
import { budget, limits } from "../../../../contract/schemas/limits.ts";
import { mailAddress, name as nameSchema } from "../../../../contract/schemas/names.ts";
import { type CsvRow, InvalidCsv, parseCsv } from "../../lib/csv.ts";

export const maxLines = 2000;
export const maxBytes = 1_000_000;

const columns = ["name", "contact", "monthly_budget", "requests_per_minute", "members"] as const;
export type ColumnName = (typeof columns)[number];

/** What the file looks like. */
export const exampleFile = `${columns.join(",")}
search,search-lead@example.com,50,600,ada@example.com:lead; sam@example.com:developer
studio,,20,,sam@example.com
archive,finance@example.com,0,,
`;

export interface Member {
  readonly name: string;
  /** In the project. Undefined if the line has none. */
  readonly role: Role | undefined;
}

/** An empty cell is undefined: it changes nothing. */
export interface ProjectLine {
  readonly line: number;
  readonly name: string;
  readonly contact: string | undefined;
  readonly month: number | undefined;
  readonly requestsPerMinute: number | undefined;
  readonly members: readonly Member[];
}

/** Why a line is refused. */
export type LineProblem =
  | { readonly kind: "cells"; readonly count: number; readonly columns: number }
  | { readonly kind: "column"; readonly column: ColumnName; readonly value: string }
  | { readonly kind: "role"; readonly value: string }
  | { readonly kind: "repeated"; readonly line: number };

export interface RefusedLine {
  readonly line: number;
  readonly name: string;
  readonly problem: LineProblem;
}

/** Why the whole file is refused. */
export type FileProblem =
  | { readonly kind: "csv"; readonly line: number }
  | { readonly kind: "columns"; readonly value: string }
  | { readonly kind: "empty" }
  | { readonly kind: "lines"; readonly count: number };

export function readProjectLines(
  content: string,
): readonly (ProjectLine | RefusedLine)[] | { readonly problem: FileProblem } {
  const rows = rowsOf(content);
  if ("line" in rows) return { problem: { kind: "csv", line: rows.line } };
  const [head, ...others] = rows;
  if (!head || others.length === 0) return { problem: { kind: "empty" } };
  if (others.length > maxLines) return { problem: { kind: "lines", count: others.length } };
  const names = head.cells.map((cell) => cell.trim().toLowerCase());
  const unknown = names.find((each) => !(columns as readonly string[]).includes(each));
  if (unknown !== undefined || !names.includes("name") || new Set(names).size < names.length)
    return { problem: { kind: "columns", value: head.cells.join(",") } };
  const lineOfName = new Map<string, number>();
  return others.map((row) => {
    const read = readLine(row, names as readonly ColumnName[]);
    const first = lineOfName.get(read.name);
    if (first !== undefined && !("problem" in read))
      return { line: row.line, name: read.name, problem: { kind: "repeated", line: first } };
    if (first === undefined) lineOfName.set(read.name, row.line);
    return read;
  });
}

/** Without blank lines. */
function rowsOf(content: string): readonly CsvRow[] | { readonly line: number } {
  try {
    return parseCsv(content).filter(({ cells }) => cells.some((cell) => cell.trim() !== ""));
  } catch (error) {
    if (error instanceof InvalidCsv) return { line: error.line };
    throw error;
  }
}

function readLine(
  { line, cells }: CsvRow,
  names: readonly ColumnName[],
): ProjectLine | RefusedLine {
  const cell = (column: ColumnName): string => cells[names.indexOf(column)]?.trim() ?? "";
  const name = cell("name");
  const refused = (problem: LineProblem): RefusedLine => ({ line, name, problem });
  // A comma that is not quoted moves the values to other columns.
  if (cells.length > names.length)
    return refused({ kind: "cells", count: cells.length, columns: names.length });
  const valid = (column: ColumnName): boolean => {
    const value = cell(column);
    return value === "" ? column !== "name" : isValid[column](value);
  };
  const bad = columns.find((column) => !valid(column));
  if (bad) return refused({ kind: "column", column: bad, value: cell(bad) });
  const members = membersOf(cell("members"));
  if ("badRole" in members) return refused({ kind: "role", value: members.badRole });
  return {
    line,
    name,
    contact: cell("contact") || undefined,
    month: numberIn(cell("monthly_budget")),
    requestsPerMinute: numberIn(cell("requests_per_minute")),
    members,
  };
}

const numberIn = (text: string): number | undefined => (text === "" ? undefined : Number(text));

/** The schemas of the API judge the values. */
const isValid: Readonly<Record<ColumnName, (value: string) => boolean>> = {
  // A path of the API cannot have these names.
  name: (value) => ![".", ".."].includes(value) && nameSchema.safeParse(value).success,
  contact: (value) => mailAddress.safeParse(value).success,
  monthly_budget: (value) => budget.shape.month.safeParse(Number(value)).success,
  requests_per_minute: (value) => limits.safeParse({ requestsPerMinute: Number(value) }).success,
  members: () => true,
};

/** Such as `ada@example.com:lead; sam`. */
function membersOf(text: string): readonly Member[] | { readonly badRole: string } {
  const members = new Map<string, Member>();
  for (const part of text.split(";").map((each) => each.trim())) {
    if (part === "") continue;
    const at = part.lastIndexOf(":");
    const given = at < 0 ? undefined : part.slice(at + 1).trim();
    const role = projectRoles.find((each) => each === given);
    if (given !== undefined && !role) return { badRole: given };
    const name = at < 0 ? part : part.slice(0, at).trim();
    // The names of users are the same in capital letters.
    members.set(name.toLowerCase(), { name, role });
  }
  return [...members.values()];
}
