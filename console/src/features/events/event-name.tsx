/** An event type in words. */
import { useLanguage } from "../../i18n/messages.ts";
import { eventName } from "./event-names.ts";

/** With the type in its title. */
export function EventName({ type }: { type: string }) {
  const { language } = useLanguage();
  return <span title={type}>{eventName(type, language)}</span>;
}
