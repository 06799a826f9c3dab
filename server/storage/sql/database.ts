/**
 * What the stores need from a SQL database. Their statements are PostgreSQL's and work in SQLite too: tables are in the
 * schema `vexel`, placeholders are `$1`, `$2`. PostgreSQL reads a BIGINT as text, so the stores convert it.
 */

export type SqlValue = string | number | boolean | null | Uint8Array;

/** A BIGINT column. */
export type SqlInteger = number | string;

export interface QueryResult<Row> {
  readonly rows: readonly Row[];
  /** Rows that were read or changed. */
  readonly count: number;
}

/** A connection, a pool or a transaction. */
export interface Queries {
  query<Row = unknown>(text: string, values?: readonly SqlValue[]): Promise<QueryResult<Row>>;
}

export interface SqlDatabase extends Queries {
  /** The end of a SELECT that locks its rows, and skips rows that another process has locked. */
  readonly lockRows: "FOR UPDATE SKIP LOCKED" | "";
  /** Commits when `work` resolves, rolls back when it rejects. `work` uses its own parameter only. */
  transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T>;
  /** Another row has the value of a column that is unique. */
  isDuplicate(error: unknown): boolean;
  close(): Promise<void>;
}

/** Collects the parameters of one statement. */
export class Parameters {
  readonly values: SqlValue[] = [];
  readonly #prefix: "$" | "?";

  /** `prefix`: `?` for a statement that is sent to SQLite without the driver. */
  constructor(prefix: "$" | "?" = "$") {
    this.#prefix = prefix;
  }

  /** Returns the placeholder of the value, such as `$3`. */
  add(value: SqlValue): string {
    this.values.push(value);
    return this.#prefix + this.values.length;
  }

  /** Whether a column has one of the values. */
  inList(column: string, values: readonly SqlValue[]): string {
    if (values.length === 0) return "false";
    return `${column} IN (${values.map((value) => this.add(value)).join(", ")})`;
  }
}

export const integerOrNull = (value: SqlInteger | null): number | null =>
  value === null ? null : Number(value);
