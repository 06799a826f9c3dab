/**
 * What this replica reports to the shared budgets: the present amounts and the entries of each account that it uses. A
 * report says how things are, never what to add, so one that is lost or late is corrected by the next one.
 */
import type { Account, SharedAccounts } from "../ledger/account.ts";
import type {
  BudgetChange,
  LimitsUpdate,
  OpenEntry,
  SlotEntry,
} from "../storage/redis/shared-limits.ts";

interface AccountReportsOptions {
  /** False: each replica applies its share. */
  readonly isReachable: () => boolean;
  /** False: nothing is kept to be sent later, because then each whole account is sent. */
  readonly isConnected: () => boolean;
  readonly replicas: () => number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  /** There is something to send. */
  readonly onChange: () => void;
}

/** Milliseconds of the monotonic clock. */
interface Reported {
  /** When its amounts last changed. */
  changedAt: number;
  /** When the last call was sent that had its amounts, and that Redis has confirmed. */
  sentAt: number;
}

/** Amounts are those of the moment at which they are sent. */
interface Changes {
  readonly closed: string[];
  readonly open: OpenEntry[];
}

interface Report extends BudgetChange {
  readonly account: Account;
}

export interface ReportedUpdate extends Omit<LimitsUpdate, "budgets"> {
  readonly budgets: readonly Report[];
}

/**
 * Amounts are sent again after this time: Redis may have evicted them, or executed an earlier call late. If Redis has
 * lost data, all are sent at once.
 */
const resendMs = 10_000;
/** The most slots, budgets and entries of one call. */
const maxItems = 500;

export class AccountReports implements SharedAccounts {
  readonly #options: AccountReportsOptions;
  readonly #reported = new Map<Account, Reported>();
  /** Not sent yet. */
  #pending = new Map<Account, Changes>();

  constructor(options: AccountReportsOptions) {
    this.#options = options;
  }

  get isReachable(): boolean {
    return this.#options.isReachable();
  }

  get replicas(): number {
    return this.#options.replicas();
  }

  isReporting(account: Account): boolean {
    return this.#reported.has(account);
  }

  accountChanged(account: Account): void {
    this.#change(account);
  }

  entryOpened(account: Account, entry: OpenEntry, isKnown: boolean): void {
    // The entry is renewed until it is closed.
    if (isKnown) this.#reportedOf(account);
    else this.#change(account)?.open.push(entry);
  }

  entryClosed(account: Account, id: string): void {
    this.#change(account)?.closed.push(id);
  }

  forget(account: Account): void {
    this.#reported.delete(account);
    this.#pending.delete(account);
  }

  /** The number of accounts with changes that are not sent yet. */
  get pending(): number {
    return this.#pending.size;
  }

  /** The number of entries that are renewed. */
  get entries(): number {
    let sum = 0;
    for (const { entries } of this.#reported.keys()) sum += entries.size;
    return sum;
  }

  takePending(): Report[] {
    const pending = this.#pending;
    this.#pending = new Map();
    return Array.from(pending, ([account, { closed, open }]) =>
      reportsOf(account, closed, open),
    ).flat();
  }

  /** What is to be sent by a renewal. */
  due(): Report[] {
    const now = this.#options.clock();
    const due: Report[] = [];
    for (const [account, { changedAt, sentAt }] of this.#reported) {
      if (sentAt <= changedAt || now - sentAt >= resendMs || account.entries.size > 0)
        due.push(...reportsOf(account, [], [...account.entries.values()]));
    }
    return due;
  }

  /** Redis has confirmed these reports. */
  confirm(reports: readonly Report[], sentAt: number): void {
    for (const { account } of reports) {
      const reported = this.#reported.get(account);
      if (!reported) continue;
      reported.sentAt = Math.max(reported.sentAt, sentAt);
      if (account.isIdle && sentAt - reported.changedAt >= resendMs) this.#reported.delete(account);
    }
  }

  /** Redis has lost data: the next renewal sends all accounts. */
  resendAll(): void {
    for (const reported of this.#reported.values()) reported.sentAt = Number.NEGATIVE_INFINITY;
  }

  #change(account: Account): Changes | undefined {
    this.#reportedOf(account).changedAt = this.#options.clock();
    if (!this.#options.isConnected()) return undefined;
    let changes = this.#pending.get(account);
    if (!changes) {
      changes = { closed: [], open: [] };
      this.#pending.set(account, changes);
      this.#options.onChange();
    }
    return changes;
  }

  #reportedOf(account: Account): Reported {
    let reported = this.#reported.get(account);
    if (!reported) {
      reported = { changedAt: this.#options.clock(), sentAt: Number.NEGATIVE_INFINITY };
      this.#reported.set(account, reported);
    }
    return reported;
  }
}

/** The account as of now, in reports with a bounded number of entries. */
function reportsOf(
  account: Account,
  closed: readonly string[],
  open: readonly OpenEntry[],
): Report[] {
  const { name, spent, ended } = account;
  const pages = Math.max(1, Math.ceil(Math.max(closed.length, open.length) / maxItems));
  return Array.from({ length: pages }, (_, page) => {
    const [from, to] = [page * maxItems, (page + 1) * maxItems];
    const entries = { closed: closed.slice(from, to), open: open.slice(from, to) };
    return { account, name, spent, ended, ...entries };
  });
}

/** Updates with a bounded number of items: at least one, and the last one is complete. */
export function pagesOf({ renewed, budgets, ...first }: ReportedUpdate): ReportedUpdate[] {
  const pages: { renewed: SlotEntry[]; budgets: Report[]; items: number }[] = [];
  const pageFor = (items: number) => {
    let page = pages.at(-1);
    if (!page || page.items + items > maxItems) {
      page = { renewed: [], budgets: [], items: 0 };
      pages.push(page);
    }
    page.items += items;
    return page;
  };
  pageFor(0);
  for (const slot of renewed) pageFor(1).renewed.push(slot);
  for (const report of budgets)
    pageFor(1 + report.closed.length + report.open.length).budgets.push(report);
  return pages.map((page, at) => ({
    ...(at === 0 ? first : { rates: [], released: [] }),
    ...page,
  }));
}
