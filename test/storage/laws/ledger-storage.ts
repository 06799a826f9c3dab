/** What the laws of the ledger need from an implementation: rows, sums and queries over one storage. */
import { Database } from "bun:sqlite";
import { type BudgetOwner, isEndUserOrTag } from "../../../contract/limits-and-budgets.ts";
import { toDollars } from "../../../server/lib/nano-dollars.ts";
import type { LedgerQueries } from "../../../server/storage/ports/ledger-queries.ts";
import type { LedgerRow } from "../../../server/storage/ports/ledger-row.ts";
import type { LedgerStore, SpentSum } from "../../../server/storage/ports/ledger-store.ts";
import { createPostgresLedgerQueries } from "../../../server/storage/postgres/ledger-queries.ts";
import { PostgresLedgerStore } from "../../../server/storage/postgres/ledger-store.ts";
import { SharedSpend } from "../../../server/storage/postgres/shared-spend.ts";
import { LedgerQueryThread } from "../../../server/storage/sqlite/ledger-query-thread.ts";
import { SqliteLedgerStore } from "../../../server/storage/sqlite/ledger-store.ts";
import { spentIn } from "../../ledger/stored-rows.ts";
import { connect } from "./reused-database.ts";

export interface LedgerStorage {
  readonly store: LedgerStore;
  readonly queries: LedgerQueries;
  /** In the stored rows. */
  sumSpent(owner: BudgetOwner, period: string): Promise<number>;
  /** Runs a statement, whose tables have the prefix `vexel.`, past the store. */
  sql<Row>(statement: string): Promise<readonly Row[]>;
  /** Whether old rows are pruned in bounded steps, or by whole days. */
  readonly pruning: "in steps" | "by day";
  close(): Promise<void>;
}

const closed = new WeakSet<LedgerStorage>();

export function openSqliteLedger(folder: string): LedgerStorage {
  const store = new SqliteLedgerStore({ folder, maxBytes: 0 });
  const queries = new LedgerQueryThread({ path: store.path });
  const storage: LedgerStorage = {
    store,
    queries,
    sumSpent: async (owner, period) => spentIn(store, owner, period),
    sql: async <Row>(statement: string) => {
      using db = new Database(store.path);
      return db.query<Row, []>(statement.replaceAll("vexel.", "")).all();
    },
    pruning: "in steps",
    close: async () => {
      if (closed.has(storage)) return;
      closed.add(storage);
      await queries.close();
      await store.close();
    },
  };
  return storage;
}

export function openPostgresLedger(url: string, now: () => number): LedgerStorage {
  const db = connect(url);
  const store = new RolledUpStore(db);
  return {
    store,
    queries: createPostgresLedgerQueries(db, () => performance.now()),
    sumSpent: async (owner, period) => {
      const spend = new SharedSpend(db, () => (period === "total" ? now() : Date.parse(period)));
      if (isEndUserOrTag(owner)) {
        const [sum] = await spend.readNamed([{ ...owner, period }]);
        return toDollars(sum?.nanos ?? Number.NaN);
      }
      await spend.refresh();
      return toDollars(spend.read({ ...owner, period }));
    },
    sql: async <Row>(statement: string) => (await db.query<Row & object>(statement, [])).rows,
    pruning: "by day",
    close: () => db.close(),
  };
}

/** Earlier rows are rolled up when rows are appended, so that most are rolled up and the last ones are not. */
class RolledUpStore extends PostgresLedgerStore {
  override async append(rows: readonly LedgerRow[]): Promise<readonly SpentSum[]> {
    await this.rollUp();
    return super.append(rows);
  }
}
