/** One migration of the PostgreSQL schema. */
export interface PostgresMigration {
  /** Such as `0002-console`, the name of its file. */
  readonly name: string;
  /** The number of migrations that a gateway must know to use the schema after this one. Absent: any number. */
  readonly requires?: number;
  readonly statements: readonly string[];
}
