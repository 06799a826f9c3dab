/**
 * What budget owners have spent, as this process knows it. It is in two places, and each dollar in one of them:
 *
 * - `spent`: a copy of the sum in the ledger's database. The sum changes only in the transaction that stores rows, and
 *   within a period it only grows, so of two copies the higher one is newer.
 * - `ended`: the rows of this process that the ledger's database does not have yet. A row is added when its request
 *   ends, and removed when the transaction that stores it returns the new sum.
 *
 * Amounts are in nano-dollars.
 */
import type { LedgerRow } from "../storage/ports/ledger-row.ts";
import type { SpendKey, SpentSum } from "../storage/ports/ledger-store.ts";
import {
  type ChargedRow,
  nanosOf,
  SpendTally,
  spendKey,
  spendKeysOf,
} from "../storage/sql/spend-tally.ts";

/** The budget that watches a sum. */
interface SpendWatcher {
  /** A request of this process has ended. */
  endedRequest(): void;
  /**
   * The copy has changed, or rows of this process were stored. `unknownNanos`: what others have spent that the shared
   * budgets had not reported.
   */
  changed(unknownNanos?: number): void;
}

/** Of one owner in one period. */
export class OwnerSpend implements SpendKey {
  readonly scope: SpendKey["scope"];
  readonly id: string;
  readonly period: string;
  spent = 0;
  ended = 0;
  /** What the other replicas have in `ended`, as of the last reply of the shared budgets. */
  endedElsewhere = 0;
  /** All that this process has ever added to `ended`. */
  endedInAll = 0;
  /** The sum of the ledger's database has been read, and is read again every two seconds. */
  isRead = false;
  /** When a budget last needed it: milliseconds, monotonic. */
  usedAt = Number.NEGATIVE_INFINITY;
  /** While a budget watches the sum, it is not evicted. */
  watcher: SpendWatcher | undefined;

  constructor({ scope, id, period }: SpendKey) {
    this.scope = scope;
    this.id = id;
    this.period = period;
  }

  /** Spent plus ended, of all replicas. */
  get total(): number {
    return this.spent + this.ended + this.endedElsewhere;
  }

  end(nanos: number): void {
    this.ended += nanos;
    this.endedInAll += nanos;
    this.watcher?.endedRequest();
  }

  drop(nanos: number): void {
    this.ended -= nanos;
    this.watcher?.changed();
  }

  /** What the shared budgets have reported. */
  accept(spent: number, endedElsewhere: number): void {
    this.spent = Math.max(this.spent, spent);
    this.endedElsewhere = endedElsewhere;
  }

  /** Sets the copy, if it is higher. `stored`: the amount of the own rows that it has in addition. */
  raise(spent: number, stored = 0): void {
    this.isRead = true;
    const others = Math.max(0, spent - this.spent - stored);
    if (others === 0 && stored === 0) return;
    const known = Math.min(others, this.endedElsewhere);
    this.ended -= stored;
    this.endedElsewhere -= known;
    this.spent = Math.max(this.spent, spent);
    this.watcher?.changed(others - known);
  }
}

interface SpendOptions {
  /** The sum in the ledger's database, as last read. Undefined if it has not been read. May throw. */
  readonly readSpent: (key: SpendKey) => number | undefined;
  /** What it was at least. The default is 0. */
  readonly startAt?: (key: SpendKey) => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export class Spend {
  readonly #options: SpendOptions;
  readonly #owners = new Map<string, OwnerSpend>();

  constructor(options: SpendOptions) {
    this.#options = options;
  }

  /** All owners that are in memory. */
  get owners(): Iterable<OwnerSpend> {
    return this.#owners.values();
  }

  /** For a budget. Throws if the ledger cannot be read. */
  of(key: SpendKey): OwnerSpend {
    const owner = this.#owner(key);
    const { readSpent, startAt, clock } = this.#options;
    if (!owner.isRead) {
      const spent = readSpent(key);
      if (spent !== undefined) owner.raise(spent);
      else if (owner.usedAt === Number.NEGATIVE_INFINITY)
        owner.accept(startAt?.(key) ?? 0, owner.endedElsewhere);
    }
    owner.usedAt = clock();
    return owner;
  }

  /** The request of this row has ended. */
  end(row: ChargedRow): void {
    const nanos = nanosOf(row);
    if (nanos > 0) for (const key of spendKeysOf(row)) this.#owner(key).end(nanos);
  }

  /** The ledger's database has these rows, and returned the sums of their owners. */
  store(rows: readonly LedgerRow[], sums: readonly SpentSum[]): void {
    const tally = new SpendTally();
    for (const row of rows) tally.add(row);
    const spent = new Map(sums.map((sum) => [spendKey(sum), sum.nanos]));
    for (const { nanos, ...key } of tally.sums) {
      const id = spendKey(key);
      const owner = this.#owner(key);
      owner.raise(spent.get(id) ?? 0, nanos);
      if (owner.ended === 0 && !owner.watcher) this.#owners.delete(id);
    }
  }

  /** The ledger's database refuses this row, so it will be in no sum. */
  drop(row: LedgerRow): void {
    for (const key of spendKeysOf(row)) this.#owner(key).drop(nanosOf(row));
  }

  /** These sums of the ledger's database have changed. */
  raise(sums: readonly SpentSum[]): void {
    for (const sum of sums) this.#owners.get(spendKey(sum))?.raise(sum.nanos);
  }

  /** The budget that watched it is gone. */
  release(owner: OwnerSpend): void {
    owner.watcher = undefined;
    if (owner.ended === 0) this.#owners.delete(spendKey(owner));
  }

  #owner(key: SpendKey): OwnerSpend {
    const id = spendKey(key);
    let owner = this.#owners.get(id);
    if (!owner) {
      owner = new OwnerSpend(key);
      this.#owners.set(id, owner);
    }
    return owner;
  }
}
