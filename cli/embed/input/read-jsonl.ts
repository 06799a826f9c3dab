/**
 * Reads JSON Lines: one object per line. Empty lines are left out. A whole number that a JavaScript number would round is
 * a bigint.
 */
import type { SourceRow } from "../row.ts";
import { decodeText, linesOf } from "./decode-text.ts";

export async function* readJsonl(path: string): AsyncGenerator<SourceRow> {
  for await (const line of linesOf(decodeText(path))) {
    if (line.trim() !== "") yield parseLine(line);
  }
}

/** Fewer digits are always exact. Few lines have them, so the others do not pay for the reviver. */
const manyDigits = /\d{16}/;
const wholeNumber = /^-?\d+$/;

const exactInteger = (_: string, value: unknown, context?: { source?: string }): unknown =>
  typeof value === "number" &&
  !Number.isSafeInteger(value) &&
  context?.source !== undefined &&
  wholeNumber.test(context.source)
    ? BigInt(context.source)
    : value;

function parseLine(line: string): SourceRow {
  try {
    const value: unknown = manyDigits.test(line)
      ? JSON.parse(line, exactInteger)
      : JSON.parse(line);
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return { columns: { ...value } };
    return { columns: {}, problem: "The line is not a JSON object." };
  } catch {
    return { columns: {}, problem: "The line is not valid JSON." };
  }
}
