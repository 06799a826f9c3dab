/**
 * Sums of the ledger over the last minutes. The ledger has sums by the hour, so each call also keeps what the current
 * hour had so far: the first hour of a window is the difference of the sums now and those at the start of the window.
 * Without a record of that time, as after a start, the window begins with the first record of that hour.
 */
import type {
  LedgerFilter,
  LedgerQueries,
  LedgerSums,
} from "../../storage/ports/ledger-queries.ts";

export type WindowSums = Pick<LedgerSums, "requests" | "errors" | "cost" | "latencyHistogram">;

interface Sample extends WindowSums {
  /** Unix milliseconds. */
  readonly at: number;
  readonly hour: number;
}

const [minuteMs, hourMs] = [60_000, 3_600_000];
/** Hours of a window of a day, with the one that has begun. */
const maxHours = 26;

const none: WindowSums = { requests: 0, errors: 0, cost: 0, latencyHistogram: [] };
const hourOf = (at: number): number => at - (at % hourMs);

export function createRequestWindow(queries: Pick<LedgerQueries, "usage">) {
  const samples: Sample[] = [];

  /** The sums at the start of the window, of the hour in which it starts. */
  const sumsAt = (start: number): WindowSums | undefined => {
    const ofHour = samples.filter(({ hour }) => hour === hourOf(start));
    return ofHour.findLast(({ at }) => at <= start) ?? ofHour[0];
  };

  const prune = (oldest: number): void => {
    while (samples[0] && samples[0].at < oldest) samples.shift();
  };

  /** `now`: Unix milliseconds. */
  return async (filter: LedgerFilter, minutes: number, now: number): Promise<WindowSums> => {
    const start = now - minutes * minuteMs;
    const firstHour = hourOf(start);
    const { groups } = await queries.usage({
      ...filter,
      from: firstHour,
      to: now,
      interval: "hour",
      limit: maxHours,
    });
    const current = groups.find(({ from }) => from === hourOf(now)) ?? none;
    const before = sumsAt(start);
    samples.push({ ...pick(current), at: now, hour: hourOf(now) });
    prune(start - hourMs);
    const later = groups.filter(({ from }) => from > firstHour);
    const first = groups.find(({ from }) => from === firstHour) ?? none;
    // Nothing is known about the start of this hour: its requests may all be older than the window.
    const ofFirst = before ? difference(first, before) : none;
    return [ofFirst, ...later].reduce(add, none);
  };
}

const pick = ({ requests, errors, cost, latencyHistogram }: WindowSums): WindowSums => ({
  requests,
  errors,
  cost,
  latencyHistogram,
});

const add = (a: WindowSums, b: WindowSums): WindowSums => combine(a, b, 1);
const difference = (a: WindowSums, b: WindowSums): WindowSums => combine(a, b, -1);

function combine(a: WindowSums, b: WindowSums, sign: 1 | -1): WindowSums {
  const length = Math.max(a.latencyHistogram.length, b.latencyHistogram.length);
  return {
    requests: a.requests + sign * b.requests,
    errors: a.errors + sign * b.errors,
    cost: a.cost + sign * b.cost,
    latencyHistogram: Array.from(
      { length },
      (_, at) => (a.latencyHistogram[at] ?? 0) + sign * (b.latencyHistogram[at] ?? 0),
    ),
  };
}
