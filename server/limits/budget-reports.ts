/**
 * What this replica reports to the shared budgets: the present amounts and the entries of each budget that it uses. A
 * report says how things are, never what to add, so one that is lost or late is corrected by the next one.
 */
import type {
  BudgetChange,
  BudgetView,
  LimitsUpdate,
  OpenEntry,
  SlotEntry,
} from "../storage/redis/shared-limits.ts";

/** A budget as this replica knows it now. */
export interface SharedBudget extends BudgetView {
  /** What this replica has reserved. */
  readonly entries: ReadonlyMap<string, OpenEntry>;
}

/** Milliseconds of the monotonic clock. */
interface Reported {
  /** When its amounts last changed. */
  changedAt: number;
  /** When the last call was sent that had its amounts, and that Redis has confirmed. */
  sentAt: number;
}

interface Report extends BudgetChange {
  readonly budget: SharedBudget;
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

export class BudgetReports {
  readonly #clock: () => number;
  readonly #budgets = new Map<SharedBudget, Reported>();
  /** Changes that are not sent yet. Amounts are those of the moment at which they are sent. */
  #pending = new Map<SharedBudget, { readonly closed: string[]; readonly open: OpenEntry[] }>();

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** The number of budgets with changes that are not sent yet. */
  get pending(): number {
    return this.#pending.size;
  }

  /** The number of entries that are renewed. */
  get entries(): number {
    let sum = 0;
    for (const { entries } of this.#budgets.keys()) sum += entries.size;
    return sum;
  }

  /** Redis may not have its amounts. */
  has(budget: SharedBudget): boolean {
    return this.#budgets.has(budget);
  }

  /** Renews the entries of the budget. */
  renew(budget: SharedBudget): void {
    this.#reported(budget);
  }

  forget(budget: SharedBudget): void {
    this.#budgets.delete(budget);
    this.#pending.delete(budget);
  }

  /** `isReachable`: false: nothing is kept to be sent later, because then the whole budget is sent. */
  change(budget: SharedBudget, isReachable: boolean) {
    this.#reported(budget).changedAt = this.#clock();
    if (!isReachable) return undefined;
    let change = this.#pending.get(budget);
    if (!change) {
      change = { closed: [], open: [] };
      this.#pending.set(budget, change);
    }
    return change;
  }

  takePending(): Report[] {
    const pending = this.#pending;
    this.#pending = new Map();
    return Array.from(pending, ([budget, { closed, open }]) =>
      reportsOf(budget, closed, open),
    ).flat();
  }

  /** What is to be sent by a renewal. */
  due(): Report[] {
    const now = this.#clock();
    const due: Report[] = [];
    for (const [budget, { changedAt, sentAt }] of this.#budgets) {
      if (sentAt <= changedAt || now - sentAt >= resendMs || budget.entries.size > 0)
        due.push(...reportsOf(budget, [], [...budget.entries.values()]));
    }
    return due;
  }

  /** Redis has confirmed these reports. */
  confirm(reports: readonly Report[], sentAt: number): void {
    for (const { budget } of reports) {
      const reported = this.#budgets.get(budget);
      if (!reported) continue;
      reported.sentAt = Math.max(reported.sentAt, sentAt);
      const isUnused = budget.ended === 0 && budget.entries.size === 0;
      if (isUnused && sentAt - reported.changedAt >= resendMs) this.#budgets.delete(budget);
    }
  }

  /** Redis has lost data: the next renewal sends all budgets. */
  resendAll(): void {
    for (const reported of this.#budgets.values()) reported.sentAt = Number.NEGATIVE_INFINITY;
  }

  #reported(budget: SharedBudget): Reported {
    let reported = this.#budgets.get(budget);
    if (!reported) {
      reported = { changedAt: this.#clock(), sentAt: Number.NEGATIVE_INFINITY };
      this.#budgets.set(budget, reported);
    }
    return reported;
  }
}

/** The budget as of now, in reports with a bounded number of entries. */
function reportsOf(
  budget: SharedBudget,
  closed: readonly string[],
  open: readonly OpenEntry[],
): Report[] {
  const { name, spent, ended } = budget;
  const pages = Math.max(1, Math.ceil(Math.max(closed.length, open.length) / maxItems));
  return Array.from({ length: pages }, (_, page) => {
    const [from, to] = [page * maxItems, (page + 1) * maxItems];
    const entries = { closed: closed.slice(from, to), open: open.slice(from, to) };
    return { budget, name, spent, ended, ...entries };
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
