/** What the stores need from PostgreSQL: a connection, a pool or a transaction runs queries. */

export type SqlValue = string | number | boolean | null | Uint8Array;

export interface QueryResult<Row> {
  readonly rows: readonly Row[];
  /** Rows that were read or changed. */
  readonly count: number;
}

export interface Queries {
  query<Row = unknown>(text: string, values?: readonly SqlValue[]): Promise<QueryResult<Row>>;
}
