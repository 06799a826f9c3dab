/** Times as people read them, in the time zone of the browser. */
export function dateTime(iso: string | null, language: string): string {
  if (iso === null) return "–";
  return new Intl.DateTimeFormat(language === "zh" ? "zh-CN" : "en-GB", {
    dateStyle: "medium",
    timeStyle: "medium",
  }).format(new Date(iso));
}
