/** Reads JSON Lines: one object per line. Empty lines are left out. */
import type { SourceRow } from "../row.ts";
import { decodeText, linesOf } from "./decode-text.ts";

export async function* readJsonl(path: string): AsyncGenerator<SourceRow> {
  for await (const line of linesOf(decodeText(path))) {
    if (line.trim() !== "") yield parseLine(line);
  }
}

function parseLine(line: string): SourceRow {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { columns: { ...value } };
    return { columns: {}, problem: "The line is not a JSON object." };
  } catch {
    return { columns: {}, problem: "The line is not valid JSON." };
  }
}
