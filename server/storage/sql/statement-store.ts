/** The statements of projects in a SQL database: what a closed month cost. A stored statement is never changed. */
import type { SqlDatabase, SqlInteger } from "./database.ts";

export interface StoredStatement {
  readonly project: string;
  /** Such as `2026-10`, in UTC. */
  readonly month: string;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly requests: number;
  /** Successful requests with neither a cost nor an estimate. */
  readonly unpriced: number;
  /** US dollars. */
  readonly cost: number;
  readonly estimatedCost: number;
}

interface Row {
  readonly project: string;
  readonly month: string;
  readonly created_at: SqlInteger;
  readonly requests: SqlInteger;
  readonly unpriced: SqlInteger;
  readonly cost: number;
  readonly estimated_cost: number;
}

export const createStatementStore = (db: SqlDatabase) => ({
  /** Another replica may have stored the statement first: then that one stays. */
  async create(statement: StoredStatement, csv: string): Promise<void> {
    const { project, month, createdAt, requests, unpriced, cost, estimatedCost } = statement;
    await db.query(
      `INSERT INTO vexel.statements
         (project, month, created_at, requests, unpriced, cost, estimated_cost, csv)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
      [project, month, createdAt, requests, unpriced, cost, estimatedCost, csv],
    );
  },

  /** The latest month first. */
  async list(project: string): Promise<readonly StoredStatement[]> {
    const { rows } = await db.query<Row>(
      `SELECT project, month, created_at, requests, unpriced, cost, estimated_cost
       FROM vexel.statements WHERE project = $1 ORDER BY month DESC`,
      [project],
    );
    return rows.map(({ project, month, created_at, requests, unpriced, cost, estimated_cost }) => ({
      project,
      month,
      createdAt: Number(created_at),
      requests: Number(requests),
      unpriced: Number(unpriced),
      cost: Number(cost),
      estimatedCost: Number(estimated_cost),
    }));
  },

  /** Undefined if there is no such statement. */
  async csv(project: string, month: string): Promise<string | undefined> {
    const { rows } = await db.query<{ readonly csv: string }>(
      "SELECT csv FROM vexel.statements WHERE project = $1 AND month = $2",
      [project, month],
    );
    return rows[0]?.csv;
  },
});

export type StatementStore = ReturnType<typeof createStatementStore>;
