/**
 * Budgets: what a call may cost is held before it is made, and what it did cost takes that place when it is over. All
 * budgets that a call is charged to are asked in one step, so calls side by side cannot spend the same dollar twice.
 */
import type { EventData } from "../../contract/events.ts";
import type { Budgeted, Reservation, Spender } from "../lib/budget.ts";
import { endOf, type Period, periods, periodsAt } from "../lib/utc-periods.ts";
import { Purse } from "./budget-counter.ts";
import { overBudget, priceUnknown } from "./over-budget.ts";

/** What a call may cost, before it is made. */
export interface Estimate {
  /** US dollars, as far as anyone can say. Undefined: nobody can. It counts where the cost stays unknown. */
  readonly dollars: number | undefined;
  /** What it cannot pass, which is held if it can be. Absent: the same. */
  readonly most?: number | undefined;
  /** Wherever it goes, the price there is known. */
  readonly certain: boolean;
}

/** What is held for one call. It ends once: whatever is said after that changes nothing. */
export interface ThresholdTold {
  readonly type: "budget.threshold";
  readonly data: EventData["budget.threshold"];
  /** The same for the same threshold of the same budget in the same period. */
  readonly once: string;
}

/** How one budget stands. */
export interface Standing {
  readonly period: Period;
  readonly limit: number;
  readonly spent: number;
  readonly reserved: number;
  /** Unix milliseconds. Absent where it never begins anew. */
  readonly resetsAt?: number;
}

export interface BudgetsOptions {
  /** What the ledger knows, rows on their way into it included. `period`: such as 2026-11-15. */
  readonly spentBefore: (spender: Spender, period: string) => number;
  readonly emit: (told: ThresholdTold) => void;
  /** Those in memory at once. Idle ones can be read from the ledger again. */
  readonly maxPurses?: number;
}

export interface Budgets {
  /**
   * Holds what a call may cost, of all these budgets or of none: then it throws GatewayError. `at`: when the call
   * arrived, which is the day and the month that it counts for.
   */
  reserve(charged: readonly Budgeted[], estimate: Estimate, at: number): Reservation;
  standing(budgeted: Budgeted, at: number): Standing[];
}

interface Line {
  /** Of its purse. */
  readonly id: string;
  readonly budgeted: Budgeted;
  readonly period: Period;
  /** Such as 2026-11-15. */
  readonly name: string;
  readonly limit: number;
  readonly purse: Purse;
}

type Tell = (line: Line) => void;

/** What is held for one call. */
class Charge implements Reservation {
  readonly estimate: number | undefined;
  readonly #lines: readonly Line[];
  readonly #most: number;
  /** Those of which the likely is held and not the most. */
  readonly #tight: readonly Line[];
  readonly #tell: Tell;
  #over = false;

  constructor(
    lines: readonly Line[],
    most: number,
    estimate: number | undefined,
    tell: Tell,
    tight: readonly Line[] = none,
  ) {
    this.estimate = estimate;
    this.#lines = lines;
    this.#most = most;
    this.#tight = tight;
    this.#tell = tell;
    for (const line of lines) {
      const stretched = tight.includes(line);
      line.purse.reserve(this.#heldOf(stretched), stretched);
    }
  }

  settle(cost: number | undefined, besides = 0): void {
    this.#end((isAmount(cost) ? cost : (this.estimate ?? 0)) + besides);
  }

  release(): void {
    this.#end(0);
  }

  #heldOf(stretched: boolean): number {
    return stretched ? (this.estimate ?? 0) : this.#most;
  }

  #end(dollars: number): void {
    if (this.#over) return;
    this.#over = true;
    for (const line of this.#lines) {
      const stretched = this.#tight.includes(line);
      line.purse.free(this.#heldOf(stretched), stretched);
      if (dollars <= 0) continue;
      line.purse.spent += dollars;
      this.#tell(line);
    }
  }
}

const none: readonly Line[] = [];

export function createBudgets(options: BudgetsOptions): Budgets {
  const { spentBefore, emit, maxPurses = 20_000 } = options;
  const purses = new Map<string, Purse>();

  const purseOf = (id: string, budgeted: Budgeted, name: string): Purse => {
    const known = purses.get(id);
    if (known?.seenFor === budgeted.budget) return known;
    const spent = spentBefore(budgeted, name);
    if (known) {
      // Another configuration: under the one before, it may have been spent from without anyone asking here.
      known.spent = spent;
      known.seenFor = budgeted.budget;
      return known;
    }
    const purse = new Purse(spent, budgeted.budget);
    purses.set(id, purse);
    return purse;
  };

  /** Only between calls: one that is looked at for the next would be there twice. */
  const makeRoom = (): void => {
    for (const mayGo of [(purse: Purse) => purse.isIdle && !purse.hasToldMore, isIdle]) {
      if (purses.size < maxPurses) return;
      for (const [id, purse] of purses) if (mayGo(purse)) purses.delete(id);
    }
  };

  const linesOf = (budgeted: Budgeted, at: number): Line[] =>
    periods.flatMap((period): Line[] => {
      const limit = budgeted.budget[period];
      if (limit === undefined) return [];
      const name = periodsAt(at)[period];
      const id = `${budgeted.scope} ${name} ${budgeted.id}`;
      const purse = purseOf(id, budgeted, name);
      purse.watch(limit);
      return [{ id, budgeted, period, name, limit, purse }];
    });

  /** Of all calls of a key on one day the lines are the same, unless a purse was forgotten or looked at for other budgets. */
  const known = new WeakMap<
    readonly Budgeted[],
    { readonly day: string; readonly lines: Line[] }
  >();
  const isStill = ({ id, budgeted, limit, purse }: Line): boolean => {
    if (purses.get(id) !== purse || purse.seenFor !== budgeted.budget) return false;
    purse.watch(limit);
    return true;
  };
  const allLinesOf = (charged: readonly Budgeted[], at: number): readonly Line[] => {
    const { day } = periodsAt(at);
    const before = known.get(charged);
    if (before?.day === day && before.lines.every(isStill)) return before.lines;
    const lines = charged.flatMap((budgeted) => linesOf(budgeted, at));
    known.set(charged, { day, lines });
    return lines;
  };

  const tell = ({ budgeted, period, name, limit, purse }: Line, refused = false): void => {
    const { scope, id } = budgeted;
    for (const percent of refused ? purse.newsOfRefusal(limit) : purse.news(limit)) {
      emit({
        type: "budget.threshold",
        data: {
          ...{ scope, id, name: budgeted.name, period, percent },
          ...{ spent: purse.spent, budget: limit },
        },
        once: `budget.threshold ${scope} ${name} ${limit} ${percent} ${id}`,
      });
    }
  };

  return {
    reserve: (charged, estimate, at) => {
      const { dollars, certain, most = dollars } = estimate;
      const picky = charged.find(({ budget }) => budget.unknownPrice === "refuse");
      if (picky && (!certain || dollars === undefined)) throw priceUnknown(picky);
      makeRoom();
      const lines = allLinesOf(charged, at);
      // What costs nothing is served, however little is left.
      const isFree = dollars === 0 && certain;
      const [likely, more] = [dollars || undefined, most || undefined];
      const isTight = ({ purse, limit }: Line): boolean => purse.isTooSmallFor(more, limit);
      if (isFree || !lines.some(isTight)) {
        return new Charge(lines, most ?? 0, dollars, tell);
      }
      const tight = lines.filter(isTight);
      // One at a time may be there whose most does not fit, if what it likely costs does: else what is left could never be spent.
      const short = tight.filter(
        ({ purse, limit }) => purse.isStretched || purse.isTooSmallFor(likely, limit),
      );
      const spent = short.filter(({ purse, limit }) => purse.isSpentFor(likely, limit));
      for (const line of short) tell(line, spent.includes(line));
      // Of those that are spent the one that lasts longest: as long as that is short, it is of no use that another begins anew.
      const [worst] = (spent.length > 0 ? spent : short).toSorted(byLength);
      if (worst) {
        const passes = spent.length === 0;
        throw overBudget(worst.budgeted, standingOf(worst, at), { dollars, most, at, passes });
      }
      return new Charge(lines, most ?? 0, dollars, tell, tight);
    },
    standing: (budgeted, at) => {
      makeRoom();
      return linesOf(budgeted, at).map((line) => standingOf(line, at));
    },
  };
}

const isIdle = (purse: Purse): boolean => purse.isIdle;

const isAmount = (cost: number | undefined): cost is number =>
  cost !== undefined && cost >= 0 && cost < Number.POSITIVE_INFINITY;

const rank = (period: Period): number => periods.indexOf(period);

/** The longest first. */
const byLength = (a: Line, b: Line): number => rank(b.period) - rank(a.period);

function standingOf({ period, limit, purse }: Line, at: number): Standing {
  const resetsAt = endOf(period, at);
  const { spent, reserved } = purse;
  return { period, limit, spent, reserved, ...(resetsAt !== undefined && { resetsAt }) };
}
