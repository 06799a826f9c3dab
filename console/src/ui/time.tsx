/**
 * A time in the language of the user and the time zone of the browser. The year is in the title only, unless it is
 * another one. `null`: a dash.
 */
import { useLanguage } from "../i18n/messages.ts";
import { dateTime, localeOf, shortTime } from "../lib/time.ts";

export function Time({ iso }: { iso: string | null }) {
  const { language } = useLanguage();
  if (iso === null) return "–";
  return (
    <time dateTime={iso} title={dateTime(iso, language)} className="whitespace-nowrap">
      {shortTime(iso, language)}
    </time>
  );
}

/** The day only, such as of the creation of a key. */
export function Day({ iso }: { iso: string | null }) {
  const { language } = useLanguage();
  if (iso === null) return "–";
  return (
    <time dateTime={iso} title={dateTime(iso, language)} className="whitespace-nowrap">
      {new Intl.DateTimeFormat(localeOf(language), { dateStyle: "medium" }).format(new Date(iso))}
    </time>
  );
}
