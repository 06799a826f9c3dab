/**
 * Days and months of a time zone, in whole hours, because usage is stored by the hour (UTC). An hour belongs to the day
 * in which it begins.
 */
const hourMs = 3_600_000;

/** Whether the text names a time zone, such as `Europe/Berlin`. */
export function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: text });
    return true;
  } catch {
    return false;
  }
}

/** Remembers the hours that were asked for, so an instance lives as long as one query. */
export class LocalPeriods {
  readonly #format: Intl.DateTimeFormat;
  readonly #length: number;
  readonly #byHour = new Map<number, number>();
  readonly #byName = new Map<string, number>();

  constructor(timeZone: string, interval: "day" | "month") {
    const parts = { year: "numeric", month: "2-digit", day: "2-digit" } as const;
    // In this locale, a date is 2026-12-31.
    this.#format = new Intl.DateTimeFormat("en-CA", { timeZone, ...parts });
    this.#length = interval === "day" ? 10 : 7;
  }

  /** The first hour of the period that the hour is in. Unix milliseconds. */
  startOf(hour: number): number {
    const known = this.#byHour.get(hour);
    if (known !== undefined) return known;
    const name = this.#nameOf(hour);
    const start = this.#byName.get(name) ?? this.#firstHour(hour, name);
    this.#byHour.set(hour, start);
    this.#byName.set(name, start);
    return start;
  }

  #firstHour(hour: number, name: string): number {
    let first = hour;
    while (this.#nameOf(first - hourMs) === name) first -= hourMs;
    return first;
  }

  #nameOf(at: number): string {
    return this.#format.format(at).slice(0, this.#length);
  }
}
