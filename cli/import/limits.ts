/** Limits and budgets of another gateway. An approximation is never looser than the original. */
import type { JsonObject } from "../../server/storage/sql/config-entity-store.ts";
import type { SubjectReport } from "./report.ts";

interface GivenLimits {
  readonly requestsPerMinute?: Given;
  readonly tokensPerMinute?: Given;
  readonly concurrent?: Given;
}

/** A number and the name of its field in the imported gateway. */
type Given = readonly [field: string, value: unknown];

const most = { requestsPerMinute: 1e9, tokensPerMinute: 1e9, concurrent: 1e6 } as const;

/** `limits` of vexel.yaml, or nothing. */
export function limitsOf(given: GivenLimits, report: SubjectReport): { limits?: JsonObject } {
  const limits: Record<string, number> = {};
  for (const [name, [field, raw]] of Object.entries(given) as [keyof typeof most, Given][]) {
    if (raw === null || raw === undefined) continue;
    const value = Number(raw);
    if (!Number.isFinite(value) || value < 0) {
      report.dropped(field, `"${raw}" is not a number`);
      continue;
    }
    limits[name] = Math.min(most[name], Math.max(1, Math.floor(value)));
    if (value < 1)
      report.approximated(field, `${value} becomes limits.${name}: 1, the lowest limit`);
    else report.carried(field, `limits.${name}: ${limits[name]}`);
  }
  return Object.keys(limits).length === 0 ? {} : { limits };
}

const dayHours = 24;
const secondsOf: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** A budget and its period, such as `30d`; without one, the budget is never reset. */
interface GivenBudget {
  readonly field: string;
  readonly max: unknown;
  readonly duration: unknown;
  /** What was spent of it. Absent if unknown, or the budget is reset. */
  readonly spent?: unknown;
}

type Amounts = Partial<Record<"day" | "month" | "total", number>>;

/** `given`: before what was spent. */
export interface PlannedBudget {
  readonly budget?: JsonObject;
  readonly given?: Amounts;
}

/** `budget` of vexel.yaml, or nothing: of several budgets for a period, the lowest. `gap`: what it does not cover. */
export function budgetOf(
  given: readonly GivenBudget[],
  report: SubjectReport,
  gap = "",
): PlannedBudget {
  const budget: Amounts = {};
  const amounts: Amounts = {};
  for (const { field, max, duration, spent } of given) {
    if (max === null || max === undefined) continue;
    const dollars = Math.min(Number(max), mostDollars);
    if (!(dollars >= 0)) {
      report.dropped(field, `"${max}" is not an amount`);
      continue;
    }
    const { period, note } = periodOf(duration);
    const used = period === "total" ? spentOf(spent) : 0;
    const left = Math.max(0, Number((dollars - used).toFixed(6)));
    budget[period] = Math.min(left, budget[period] ?? left);
    amounts[period] = Math.min(dollars, amounts[period] ?? dollars);
    const rest = used > 0 ? `, of ${dollars} what is left after ${used}` : "";
    reportBudget(field, `budget.${period}: ${budget[period]}${rest}`, [note, gap], report);
  }
  return Object.keys(budget).length === 0 ? {} : { budget, given: amounts };
}

function reportBudget(
  field: string,
  text: string,
  notes: readonly string[],
  report: SubjectReport,
): void {
  const more = notes.filter((note) => note !== "");
  if (more.length === 0) report.carried(field, text);
  else report.approximated(field, [text, ...more].join(". "));
}

const spentOf = (spent: unknown): number => Math.max(0, Number(spent ?? 0) || 0);

/** The highest budget that Vexel has. */
const mostDollars = 1e9;

/** The period that is at least as long as the duration, so that the budget is not looser. */
function periodOf(duration: unknown): { period: "day" | "month" | "total"; note: string } {
  if (duration === null || duration === undefined || duration === "")
    return { period: "total", note: "" };
  const text = String(duration);
  if (text === "1mo") return { period: "month", note: "" };
  const [, count, unit = ""] = /^(\d+)(mo|[smhdw])$/.exec(text) ?? [];
  const seconds =
    unit === "mo" ? Number(count) * 31 * 86_400 : Number(count) * (secondsOf[unit] ?? 0);
  if (seconds === dayHours * 3600) return { period: "day", note: "" };
  const stricter = `The budget was per ${text}; Vexel has days, months and totals, and this is the stricter one`;
  if (!(seconds > 0)) return { period: "total", note: `"${text}" is no known duration` };
  if (seconds < dayHours * 3600) return { period: "day", note: stricter };
  if (text === "30d" || text === "31d")
    return { period: "month", note: `${text} becomes a calendar month (UTC)` };
  return seconds < 28 * 86_400
    ? { period: "month", note: stricter }
    : { period: "total", note: stricter };
}
