/**
 * Sums of the ledger over the last minutes. The ledger has sums by the hour, so each call also keeps what the current
 * hour had so far: the first hour of a window is the difference of the sums now and those at the start of the window.
 * Without a sample of that time, as after a start of the process, it is not known which requests of that hour are in
 * the window.
 */
import type {
  LedgerFilter,
  LedgerQueries,
  LedgerSums,
} from "../../storage/ports/ledger-queries.ts";

export type RequestSums = Pick<
  LedgerSums,
  "requests" | "errors" | "refused" | "cost" | "estimatedCost" | "latencyHistogram"
>;

export interface WindowSums {
  /** Requests that are in the window. */
  readonly known: RequestSums;
  /** Further requests of the first hour of the window: none, some or all of them are in the window. */
  readonly uncertain: RequestSums;
}

interface Sample extends RequestSums {
  /** Unix milliseconds. */
  readonly at: number;
  readonly hour: number;
}

const [minuteMs, hourMs] = [60_000, 3_600_000];
/** Hours of a window of a day, with the one that has begun. */
const maxHours = 26;

const none: RequestSums = {
  requests: 0,
  errors: 0,
  refused: 0,
  cost: 0,
  estimatedCost: 0,
  latencyHistogram: [],
};
const hourOf = (at: number): number => at - (at % hourMs);

export function createRequestWindow(queries: Pick<LedgerQueries, "usage">) {
  const samples: Sample[] = [];

  /** Divides the requests of the first hour, whose sums are `first` now. */
  const divide = (first: RequestSums, start: number): WindowSums => {
    const ofHour = samples.filter(({ hour }) => hour === hourOf(start));
    const atStart = ofHour.findLast(({ at }) => at <= start);
    if (atStart) return { known: combine(first, atStart, -1), uncertain: none };
    const [earliest] = ofHour;
    return earliest
      ? { known: combine(first, earliest, -1), uncertain: earliest }
      : { known: none, uncertain: first };
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
    const { known, uncertain } = divide(
      groups.find(({ from }) => from === firstHour) ?? none,
      start,
    );
    samples.push({ ...pick(current), at: now, hour: hourOf(now) });
    prune(start - hourMs);
    const later = groups.filter(({ from }) => from > firstHour);
    return { known: later.reduce(addSums, known), uncertain };
  };
}

const pick = (sums: RequestSums): RequestSums => ({
  requests: sums.requests,
  errors: sums.errors,
  refused: sums.refused,
  cost: sums.cost,
  estimatedCost: sums.estimatedCost,
  latencyHistogram: sums.latencyHistogram,
});

export const addSums = (a: RequestSums, b: RequestSums): RequestSums => combine(a, b, 1);

function combine(a: RequestSums, b: RequestSums, sign: 1 | -1): RequestSums {
  const length = Math.max(a.latencyHistogram.length, b.latencyHistogram.length);
  return {
    requests: a.requests + sign * b.requests,
    errors: a.errors + sign * b.errors,
    refused: a.refused + sign * b.refused,
    cost: a.cost + sign * b.cost,
    estimatedCost: a.estimatedCost + sign * b.estimatedCost,
    latencyHistogram: Array.from(
      { length },
      (_, at) => (a.latencyHistogram[at] ?? 0) + sign * (b.latencyHistogram[at] ?? 0),
    ),
  };
}
