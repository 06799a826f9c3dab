/**
 * The connection pool to PostgreSQL (`DATABASE_URL`). The first query applies the migrations. Every query has a
 * timeout: a database that does not respond is an error within seconds, and the next query uses new connections.
 */
import { SQL } from "bun";
import { errorMessage } from "../../lib/error-code.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { ignoreRejection } from "../../lib/tasks.ts";
import { startTimeout } from "../../lib/timers.ts";
import type { Queries, QueryResult, SqlDatabase, SqlValue } from "../sql/database.ts";
import { migrate, type PostgresMigration } from "./migrate.ts";
import { postgresMigrations } from "./migrations/index.ts";

export interface PostgresOptions {
  readonly url: string;
  /** Unix milliseconds, recorded with the migrations. */
  readonly now: () => number;
  readonly maxConnections?: number;
  /** The longest time for one query or transaction, including the connection. */
  readonly timeoutMs?: number;
  readonly migrations?: readonly PostgresMigration[];
}

export class PostgresDatabase implements SqlDatabase {
  readonly lockRows = "FOR UPDATE SKIP LOCKED";
  readonly #options: Required<PostgresOptions>;
  #pool: SQL;
  #isClosed = false;
  /** Rejects if the migrations failed; then the next query applies them again. */
  #migrated: Promise<void> | undefined;

  constructor(options: PostgresOptions) {
    this.#options = {
      maxConnections: 8,
      timeoutMs: 10_000,
      migrations: postgresMigrations,
      ...options,
    };
    this.#pool = this.#open();
  }

  /** Connects and applies the migrations that the database lacks. Other methods call it by themselves. */
  async migrate(): Promise<void> {
    this.#migrated ??= this.#migrate();
    const running = this.#migrated;
    try {
      await running;
    } catch (error) {
      if (this.#migrated === running) this.#migrated = undefined;
      throw error;
    }
  }

  async query<Row>(text: string, values: readonly SqlValue[] = []): Promise<QueryResult<Row>> {
    await this.migrate();
    return this.#run((pool) => send<Row>(pool, text, values));
  }

  async transaction<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    await this.migrate();
    return this.#begin(work);
  }

  isDuplicate(error: unknown): boolean {
    return sqlState(error) === "23505";
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#pool.close({ timeout: 1 });
  }

  #open(): SQL {
    const { url, maxConnections, timeoutMs } = this.#options;
    return new SQL({
      url,
      adapter: "postgres",
      max: maxConnections,
      idleTimeout: 60,
      // A prepared statement fails when a newer version has added a column to its result.
      prepare: false,
      connectionTimeout: Math.max(1, Math.ceil(timeoutMs / 2000)),
    });
  }

  #migrate(): Promise<void> {
    const { migrations, now } = this.#options;
    return this.#begin((queries) => migrate(queries, migrations, now()));
  }

  #begin<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    return this.#run((pool, timeout) =>
      pool.begin(async (connection) => {
        const result = await work({
          query: async (text, values = []) => {
            timeout.throwIfAborted();
            return send(connection, text, values);
          },
        });
        // The caller got an error, so nothing may be committed.
        timeout.throwIfAborted();
        return result;
      }),
    );
  }

  async #run<T>(work: (pool: SQL, timeout: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new Error("The database connection is closed.");
    const pool = this.#pool;
    const timeout = new AbortController();
    const { promise: late, reject } = Promise.withResolvers<never>();
    const { timeoutMs } = this.#options;
    const stop = startTimeout(timeoutMs, () => {
      this.#replace(pool);
      const error = unavailable(`no response within ${timeoutMs} ms`);
      timeout.abort(error);
      reject(error);
    });
    try {
      return await Promise.race([work(pool, timeout.signal), late]);
    } catch (error) {
      // A session may stay read-only, or lead to the earlier primary, after the database can be written again.
      if (sqlState(error) === readOnly) this.#replace(pool);
      throw isConnectionError(error) ? unavailable(error) : error;
    } finally {
      stop();
    }
  }

  /**
   * A connection that does not respond stays silent, so all queries after a timeout use new ones. Perhaps only one
   * query was slow: the others may end within their own timeouts.
   */
  #replace(replaced: SQL): void {
    if (this.#pool !== replaced || this.#isClosed) return;
    this.#pool = this.#open();
    ignoreRejection(replaced.close({ timeout: Math.ceil(this.#options.timeoutMs / 1000) }));
  }
}

async function send<Row>(
  connection: Pick<SQL, "unsafe">,
  text: string,
  values: readonly SqlValue[],
): Promise<QueryResult<Row>> {
  const result = (await connection.unsafe(text, [...values])) as Row[] & { count?: number };
  return { rows: result, count: result.count ?? result.length };
}

/** The SQLSTATE of a server error, such as 23505. Empty for other errors. */
export const sqlState = (error: unknown): string =>
  error instanceof SQL.PostgresError ? String(error.errno ?? "") : "";

/** The database is read-only, as a standby is during a failover. */
const readOnly = "25006";
/** SQLSTATE classes: connection exception, insufficient resources, operator intervention (shutdown, start-up). */
const unavailableStates = /^(08|53|57P)/;
const serverError = "ERR_POSTGRES_SERVER_ERROR";
/** Defects of a query, not of the connection. */
const queryErrors: ReadonlySet<string> = new Set([
  serverError,
  "ERR_POSTGRES_SYNTAX_ERROR",
  "ERR_POSTGRES_INVALID_QUERY_BINDING",
]);

function isConnectionError(error: unknown): boolean {
  if (!(error instanceof SQL.PostgresError)) return false;
  const state = sqlState(error);
  return queryErrors.has(error.code) ? state === readOnly || unavailableStates.test(state) : true;
}

function unavailable(cause: unknown): GatewayError {
  const reason = errorMessage(cause);
  return new GatewayError(
    "storage_unavailable",
    "The database of this gateway (DATABASE_URL) cannot be reached. Retry later.",
    { retryAfterMs: 5000, cause, logDetail: reason },
  );
}
