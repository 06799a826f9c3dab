/** Times as people read them, in the time zone of the browser. */
export const localeOf = (language: string): string => (language === "zh" ? "zh-CN" : "en-GB");

const formats = new Map<string, Intl.DateTimeFormat>();

/** One for each language and form: to make one takes far longer than to use it. */
function formatOf(language: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${language} ${JSON.stringify(options)}`;
  const format = formats.get(key) ?? new Intl.DateTimeFormat(localeOf(language), options);
  formats.set(key, format);
  return format;
}

/** `zone`: undefined is that of the browser. */
export function dateTime(iso: string | null, language: string, zone?: "UTC"): string {
  if (iso === null) return "–";
  return formatOf(language, {
    dateStyle: "medium",
    timeStyle: "medium",
    ...(zone && { timeZone: zone }),
  }).format(new Date(iso));
}

/** Without the year, if it is this year. */
export function shortTime(iso: string, language: string): string {
  const date = new Date(iso);
  if (date.getFullYear() !== new Date().getFullYear()) return dateTime(iso, language);
  return formatOf(language, {
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
  }).format(date);
}

/** A date without a time, such as the end of a model: the same day in every time zone. */
export const dateOnly = (iso: string, language: string): string =>
  new Intl.DateTimeFormat(localeOf(language), { dateStyle: "medium", timeZone: "UTC" }).format(
    new Date(iso),
  );

/** An ISO time as the browser's input of a time expects it: 2026-12-31T23:59. The empty text: no time. */
export function toInputTime(iso: string | undefined, zone?: "UTC"): string {
  const time = Date.parse(iso ?? "");
  if (Number.isNaN(time)) return "";
  const offsetMs = zone === "UTC" ? 0 : new Date(time).getTimezoneOffset() * 60_000;
  return new Date(time - offsetMs).toISOString().slice(0, 16);
}

/** The ISO time of an input of a time. */
export const fromInputTime = (value: string, zone?: "UTC"): string =>
  new Date(zone === "UTC" ? `${value}Z` : value).toISOString();

/** The day in the time zone of the browser, as a date input has it: 2026-12-31. */
export const localDay = (time: Date): string => {
  const parts = [time.getFullYear(), time.getMonth() + 1, time.getDate()];
  return parts.map((part) => String(part).padStart(2, "0")).join("-");
};

/** The last millisecond of the day in the time zone of the browser. */
export const endOfDay = (day: string): string => new Date(`${day}T23:59:59.999`).toISOString();

export const timeZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;
