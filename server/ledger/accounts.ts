/** The accounts of budget owners that this process needs: those of budgets, and those with rows that are not stored. */
import type { LedgerRow } from "../storage/ports/ledger-row.ts";
import type { SpendKey, SpentSum } from "../storage/ports/ledger-store.ts";
import {
  type ChargedRow,
  isChargedAlike,
  nanosOf,
  SpendTally,
  spendKey,
  spendKeysOf,
} from "../storage/sql/spend-tally.ts";
import { Account, type SharedAccounts } from "./account.ts";

interface AccountsOptions {
  /** The sum in the ledger's database, as last read. Undefined if it has not been read. May throw. */
  readonly readSpent: (key: SpendKey) => number | undefined;
  /** What it was at least. The default is 0. */
  readonly startAt?: (key: SpendKey) => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** The most accounts in memory. Idle ones are evicted. */
  readonly max?: number;
}

/** How many accounts are examined at a time. */
const examined = 16;

export class Accounts {
  readonly #options: AccountsOptions;
  readonly #max: number;
  readonly #accounts = new Map<string, Account>();
  #shared: SharedAccounts | undefined;
  /** The accounts of the row before: the next row is often of the same key. */
  #last: { readonly row: ChargedRow; readonly accounts: readonly Account[] } | undefined;

  constructor(options: AccountsOptions) {
    this.#options = options;
    this.#max = options.max ?? 20_000;
  }

  /** To be called before a budget needs an account. What an earlier process on the data folder has left is reported. */
  share(shared: SharedAccounts): void {
    this.#shared = shared;
    for (const account of this.#accounts.values()) {
      account.useForBudget(shared);
      account.changed();
    }
  }

  [Symbol.iterator](): Iterator<Account> {
    return this.#accounts.values();
  }

  /** For a budget. Throws if the ledger cannot be read. */
  of(key: SpendKey): Account {
    const account = this.#find(key);
    const { readSpent, startAt, clock } = this.#options;
    if (!account.isRead) {
      const spent = readSpent(key);
      if (spent !== undefined) account.raise(spent);
      else if (account.usedAt === Number.NEGATIVE_INFINITY) account.startAt(startAt?.(key) ?? 0);
    }
    account.useForBudget(this.#shared);
    account.usedAt = clock();
    return account;
  }

  /** The request of this row has ended. */
  end(row: ChargedRow): void {
    const nanos = nanosOf(row);
    if (nanos > 0) for (const account of this.#accountsOf(row)) account.end(nanos);
  }

  /** The ledger's database has these rows, and returned the sums of their owners. */
  store(rows: readonly LedgerRow[], sums: readonly SpentSum[]): void {
    const tally = new SpendTally();
    for (const row of rows) tally.add(row);
    const spent = new Map(sums.map((sum) => [spendKey(sum), sum.nanos]));
    for (const { nanos, ...key } of tally.sums) {
      const account = this.#find(key);
      account.raise(spent.get(account.name) ?? 0, nanos);
      if (account.ended === 0 && !account.isBudgeted) this.#delete(account);
    }
  }

  /** The ledger's database refuses this row, so it will be in no sum. */
  drop(row: LedgerRow): void {
    for (const account of this.#accountsOf(row)) account.drop(nanosOf(row));
  }

  /** These sums of the ledger's database have changed. */
  raise(sums: readonly SpentSum[]): void {
    for (const sum of sums) this.#accounts.get(spendKey(sum))?.raise(sum.nanos);
  }

  /**
   * Bounds the memory. A threshold that the budget of an evicted account has reported may be reported again: its event
   * has the same deduplication key. Must not be called between `of` and the reservation: an account that is about to be
   * used must not be replaced by a second one.
   */
  evictIdle(): void {
    if (this.#accounts.size < this.#max) return;
    const isTooMany = this.#accounts.size >= 2 * this.#max;
    let left = examined;
    for (const account of this.#accounts.values()) {
      if (left-- === 0) return;
      this.#delete(account);
      if (account.isIdle && (isTooMany || !account.isReporting)) account.dispose();
      else this.#accounts.set(account.name, account);
    }
  }

  #accountsOf(row: ChargedRow): readonly Account[] {
    if (!this.#last || !isChargedAlike(this.#last.row, row))
      this.#last = { row, accounts: spendKeysOf(row).map((key) => this.#find(key)) };
    return this.#last.accounts;
  }

  #delete({ name }: Account): void {
    this.#accounts.delete(name);
    this.#last = undefined;
  }

  /** While an account is in use, it is always the same object. */
  #find(key: SpendKey): Account {
    const name = spendKey(key);
    let account = this.#accounts.get(name);
    if (!account) {
      account = new Account(key);
      this.#accounts.set(name, account);
    }
    return account;
  }
}
