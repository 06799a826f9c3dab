/** A time in the language of the user and the time zone of the browser. `null`: a dash. */
import { useLanguage } from "../i18n/messages.ts";
import { dateTime } from "../lib/time.ts";

export function Time({ iso }: { iso: string | null }) {
  const { language } = useLanguage();
  return iso === null ? "–" : <time dateTime={iso}>{dateTime(iso, language)}</time>;
}
