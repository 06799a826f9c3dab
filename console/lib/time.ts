/** Times as people read them, in the time zone of the browser. */
export const localeOf = (language: string): string => (language === "zh" ? "zh-CN" : "en-GB");

export function dateTime(iso: string | null, language: string): string {
  if (iso === null) return "–";
  return new Intl.DateTimeFormat(localeOf(language), {
    dateStyle: "medium",
    timeStyle: "medium",
  }).format(new Date(iso));
}
