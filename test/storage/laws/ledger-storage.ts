/** What the laws of the ledger need from an implementation: rows, sums and queries over one storage. */
import type { LedgerQueries } from "../../../server/storage/ports/ledger-queries.ts";
import type { LedgerStore, SpendSums } from "../../../server/storage/ports/ledger-store.ts";
import { LedgerQueryThread } from "../../../server/storage/sqlite/ledger-query-thread.ts";
import { SqliteLedgerStore } from "../../../server/storage/sqlite/ledger-store.ts";

export interface LedgerStorage {
  readonly store: LedgerStore & SpendSums;
  readonly queries: LedgerQueries;
  close(): Promise<void>;
}

const closed = new WeakSet<LedgerStorage>();

export function openSqliteLedger(folder: string): LedgerStorage {
  const store = new SqliteLedgerStore({ folder, maxBytes: 0 });
  const queries = new LedgerQueryThread({ path: store.path });
  const storage: LedgerStorage = {
    store,
    queries,
    close: async () => {
      if (closed.has(storage)) return;
      closed.add(storage);
      await queries.close();
      await store.close();
    },
  };
  return storage;
}
