/**
 * The other columns of a row, such as title and address, which a Parquet output has too. A value is stored as JSON
 * until the run is complete; the type of a column is the type of all its values.
 */

export type ColumnType = "none" | "boolean" | "integer" | "number" | "time" | "bytes" | "text";

/**
 * A value of a column as JSON. Integers of 64 bits and numbers that are not finite are texts of their digits; a time is
 * its microseconds since 1970.
 */
export interface Cell {
  readonly name: string;
  readonly type: ColumnType;
  readonly value: string | number | boolean | null;
}

/** The column types of a run, in the order in which the columns appeared. */
export type ColumnTypes = Map<string, ColumnType>;

/** A JSON Lines file may name new columns in every line: further ones are left out. */
export const maxColumns = 1000;

const maxInt64 = 2n ** 63n;

/** `isFractional`: the column has fractions, so a whole number is of their type. */
export function toCell(name: string, value: unknown, isFractional = false): Cell {
  const cell = (type: ColumnType, own: Cell["value"]): Cell => ({ name, type, value: own });
  switch (typeof value) {
    case "undefined":
      return cell("none", null);
    case "boolean":
      return cell("boolean", value);
    case "string":
      return cell("text", value);
    case "bigint":
      return cell(value >= -maxInt64 && value < maxInt64 ? "integer" : "text", `${value}`);
    case "number":
      if (Number.isSafeInteger(value) && !isFractional) return cell("integer", value);
      return cell("number", Number.isFinite(value) ? value : String(value));
  }
  if (value === null) return cell("none", null);
  if (value instanceof Uint8Array) return cell("bytes", toBase64(value));
  if (value instanceof Date) {
    const micros = microsOf(value);
    return micros === undefined ? cell("none", null) : cell("time", `${micros}`);
  }
  return cell("text", JSON.stringify(value, jsonValue) ?? null);
}

/** A time as Parquet has it: a Date has milliseconds only. */
export class PreciseTime extends Date {
  readonly micros: bigint;

  constructor(micros: bigint) {
    super(Number(micros / 1000n));
    this.micros = micros;
  }
}

/** Since 1970. Undefined if the date is invalid. */
function microsOf(time: Date): bigint | undefined {
  if (time instanceof PreciseTime) return time.micros;
  return Number.isNaN(time.getTime()) ? undefined : BigInt(time.getTime()) * 1000n;
}

const jsonValue = (_: string, value: unknown): unknown => {
  if (typeof value === "bigint")
    return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  return value instanceof Uint8Array ? toBase64(value) : value;
};

const toBase64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

/** Columns beyond the maximum are left out. */
export function addTypes(types: ColumnTypes, cells: readonly Cell[]): void {
  for (const { name, type } of cells) {
    const before = types.get(name);
    if (before !== undefined) types.set(name, commonType(before, type));
    else if (types.size < maxColumns) types.set(name, type);
  }
}

function commonType(a: ColumnType, b: ColumnType): ColumnType {
  if (a === b || b === "none") return a;
  if (a === "none") return b;
  const isNumeric = [a, b].every((type) => type === "integer" || type === "number");
  return isNumeric ? "number" : "text";
}

/** The value in the error file. */
export const printCell = ({ type, value }: Cell): Cell["value"] =>
  type === "time" && value !== null ? new Date(Number(value) / 1000).toISOString() : value;

/** The value for a column of this type, which is the type of the cell or one that covers it. */
export function fromCell(type: ColumnType, value: Cell["value"] | undefined): unknown {
  if (value === null || value === undefined) return null;
  switch (type) {
    case "boolean":
      return value;
    case "integer":
      return BigInt(value);
    case "number":
      return Number(value);
    case "time":
      return BigInt(value);
    case "bytes":
      return Buffer.from(String(value), "base64");
    default:
      return String(value);
  }
}
