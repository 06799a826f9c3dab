/** The prepared statements of a connection, released together: SQLite closes a file after its last statement. */
import type { Database, SQLQueryBindings } from "bun:sqlite";

export class PreparedStatements {
  readonly #db: Database;
  readonly #statements: { finalize(): void }[] = [];

  constructor(db: Database) {
    this.#db = db;
  }

  readonly prepare: Database["prepare"] = <
    Row,
    Values extends SQLQueryBindings | SQLQueryBindings[],
  >(
    sql: string,
  ) => {
    const statement = this.#db.prepare<Row, Values>(sql);
    this.#statements.push(statement);
    return statement;
  };

  finalize(): void {
    for (const statement of this.#statements) statement.finalize();
  }
}
