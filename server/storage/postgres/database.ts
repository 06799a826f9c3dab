/**
 * The connection pool to PostgreSQL (`DATABASE_URL`). The first query applies the migrations. Every query has a
 * timeout, after which the server cancels it (`statement_timeout`), and the connection is used again. A connection on
 * which the server does not even report that is silent: the next query uses new connections.
 *
 * PgBouncer in transaction mode may send each transaction to another session of the server. So no statement is
 * prepared by name, and locks and settings last no longer than a transaction.
 */
import { SQL } from "bun";
import { errorMessage } from "../../lib/error-code.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { ignoreRejection } from "../../lib/tasks.ts";
import { type TimeCall, untimed } from "../../lib/time-call.ts";
import { startTimeout } from "../../lib/timers.ts";
import type { Queries, QueryResult, SqlDatabase, SqlInteger, SqlValue } from "../sql/database.ts";
import { assertKnownSchema, migrate, type PostgresMigration } from "./migrate.ts";
import { postgresMigrations } from "./migrations/index.ts";

interface PostgresOptions {
  readonly url: string;
  /** The setting that has the URL, for error messages. A read replica is not migrated: the primary is. */
  readonly setting?: "DATABASE_URL" | "DATABASE_READ_URL";
  /** Unix milliseconds, recorded with the migrations. */
  readonly now: () => number;
  readonly maxConnections?: number;
  /** The longest time for one query. */
  readonly timeoutMs?: number;
  readonly migrations?: readonly PostgresMigration[];
  /** Observes how long each query or transaction takes. */
  readonly timeCall?: TimeCall;
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
      setting: "DATABASE_URL",
      maxConnections: 4,
      timeoutMs: 10_000,
      migrations: postgresMigrations,
      timeCall: untimed,
      ...options,
    };
    this.#pool = this.#open();
  }

  /**
   * Connects and applies the migrations that the database lacks. Other methods call it by themselves. Rejects with
   * StoreError if the tables are not those of this version.
   */
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

  /** Rejects with StoreError if the tables are not those of this version. Applies no migrations. */
  assertKnownSchema(): Promise<void> {
    return this.#begin((queries) => assertKnownSchema(queries, this.#options.migrations));
  }

  /**
   * The clock of the database, in Unix milliseconds: replicas share it, so that one with a wrong clock does not delete
   * what has not expired.
   */
  async serverNow(): Promise<number> {
    const { rows } = await this.query<{ now: SqlInteger }>(
      "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now",
    );
    return Number(rows[0]?.now);
  }

  async query<Row>(text: string, values: readonly SqlValue[] = []): Promise<QueryResult<Row>> {
    await this.migrate();
    return this.#run(async (pool, run) => {
      const connection = await pool.reserve();
      try {
        return await run.send<Row>(connection, text, values);
      } finally {
        connection.release();
      }
    });
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
      connection: { statement_timeout: timeoutMs },
    });
  }

  async #migrate(): Promise<void> {
    const { setting, migrations, now } = this.#options;
    if (setting === "DATABASE_READ_URL") return;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#begin((queries) => migrate(queries, migrations, now()));
      } catch (error) {
        // A migration takes its locks in another order than the replicas that serve meanwhile.
        if (sqlState(error) !== deadlockDetected || attempt === maxMigrationAttempts) throw error;
      }
    }
  }

  #begin<T>(work: (queries: Queries) => Promise<T>): Promise<T> {
    return this.#run((pool, run) =>
      pool.begin(async (connection) => {
        const result = await work({
          query: (text, values = []) => run.send(connection, text, values),
        });
        // The caller got an error, so nothing may be committed.
        run.throwIfEnded();
        return result;
      }),
    );
  }

  async #run<T>(work: (pool: SQL, run: Run) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw new Error("The database connection is closed.");
    const pool = this.#pool;
    const { setting, timeoutMs, timeCall } = this.#options;
    const run = new Run(setting, timeoutMs, () => this.#replace(pool));
    try {
      return await timeCall(() => Promise.race([work(pool, run), run.late]));
    } catch (error) {
      const state = sqlState(error);
      if (state === queryCanceled) throw tooSlow(setting, timeoutMs, error);
      // A session may stay read-only, or lead to the earlier primary, after the database can be written again.
      if (state === readOnly) this.#replace(pool);
      throw isConnectionError(error) ? unreachable(setting, error) : error;
    } finally {
      run.end();
    }
  }

  /** A connection that is silent stays silent. The queries on other connections may end within their own timeouts. */
  #replace(replaced: SQL): void {
    if (this.#pool !== replaced || this.#isClosed) return;
    this.#pool = this.#open();
    ignoreRejection(replaced.close({ timeout: Math.ceil(this.#options.timeoutMs / 1000) }));
  }
}

/** One query or transaction, with its timeouts. */
class Run {
  readonly #setting: string;
  readonly #timeoutMs: number;
  /** How much later than the server this process ends a query: the report of the server is on its way. */
  readonly #graceMs: number;
  readonly #onSilent: () => void;
  readonly #late = Promise.withResolvers<never>();
  readonly #stop: () => void;
  #hasConnection = false;
  #error: GatewayError | undefined;

  /** `onSilent`: the server has not responded, although it cancels slow queries. */
  constructor(setting: string, timeoutMs: number, onSilent: () => void) {
    this.#setting = setting;
    this.#timeoutMs = timeoutMs;
    this.#graceMs = Math.min(1000, timeoutMs / 4);
    this.#onSilent = onSilent;
    this.#stop = startTimeout(timeoutMs + 2 * this.#graceMs, () =>
      this.#fail(this.#hasConnection ? tooSlow(setting, timeoutMs) : busy(setting, timeoutMs)),
    );
  }

  /** Rejects at the end of the time, which includes the wait for a connection. */
  get late(): Promise<never> {
    return this.#late.promise;
  }

  throwIfEnded(): void {
    if (this.#error) throw this.#error;
  }

  async send<Row>(
    connection: Pick<SQL, "unsafe">,
    text: string,
    values: readonly SqlValue[],
  ): Promise<QueryResult<Row>> {
    this.#hasConnection = true;
    this.throwIfEnded();
    const stop = startTimeout(this.#timeoutMs + this.#graceMs, () => {
      this.#onSilent();
      const waitedMs = this.#timeoutMs + this.#graceMs;
      this.#fail(unreachable(this.#setting, `no response within ${waitedMs} ms`));
    });
    try {
      const result = (await connection.unsafe(text, [...values])) as Row[] & { count?: number };
      return { rows: result, count: result.count ?? result.length };
    } finally {
      stop();
    }
  }

  end(): void {
    this.#stop();
  }

  #fail(error: GatewayError): void {
    this.#error ??= error;
    this.#late.reject(this.#error);
  }
}

/** The SQLSTATE of a server error, such as 23505. Empty for other errors. */
export const sqlState = (error: unknown): string =>
  error instanceof SQL.PostgresError ? String(error.errno ?? "") : "";

/** The server canceled the query: here, after `statement_timeout`. */
const queryCanceled = "57014";
export const deadlockDetected = "40P01";
const maxMigrationAttempts = 5;
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

const unreachable = (setting: string, cause: unknown): GatewayError =>
  unavailable(`The database of this gateway (${setting}) cannot be reached.`, cause);

const tooSlow = (setting: string, timeoutMs: number, cause?: unknown): GatewayError =>
  unavailable(
    `A query of the database of this gateway (${setting}) took longer than ${timeoutMs / 1000} s and was canceled.`,
    cause ?? `no result within ${timeoutMs} ms`,
  );

const busy = (setting: string, timeoutMs: number): GatewayError =>
  unavailable(
    `No connection to the database of this gateway (${setting}) was free within ${timeoutMs / 1000} s.`,
    "all connections were in use",
  );

function unavailable(message: string, cause: unknown): GatewayError {
  return new GatewayError("storage_unavailable", `${message} Retry later.`, {
    retryAfterMs: 5000,
    cause,
    logDetail: errorMessage(cause),
  });
}
