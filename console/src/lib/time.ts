/** Times as people read them, in the time zone of the browser. */
export const localeOf = (language: string): string => (language === "zh" ? "zh-CN" : "en-GB");

export function dateTime(iso: string | null, language: string): string {
  if (iso === null) return "–";
  return new Intl.DateTimeFormat(localeOf(language), {
    dateStyle: "medium",
    timeStyle: "medium",
  }).format(new Date(iso));
}

/** The day in the time zone of the browser, as a date input has it: 2026-12-31. */
export const localDay = (time: Date): string => {
  const parts = [time.getFullYear(), time.getMonth() + 1, time.getDate()];
  return parts.map((part) => String(part).padStart(2, "0")).join("-");
};

/** The last millisecond of the day in the time zone of the browser. */
export const endOfDay = (day: string): string => new Date(`${day}T23:59:59.999`).toISOString();

export const timeZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;
