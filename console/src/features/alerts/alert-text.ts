/** The messages of alerts, which only their page loads, and those of all pages. */
import { useMemo } from "react";
import { enAlerts } from "../../i18n/en-alerts.ts";
import { formatter, useLanguage } from "../../i18n/messages.ts";
import { zhAlerts } from "../../i18n/zh-alerts.ts";

type AlertKey = keyof typeof enAlerts;
export type AlertText = ReturnType<typeof formatter<AlertKey>>;

const catalogs = { en: enAlerts, zh: zhAlerts };

export function useAlertText() {
  const { t: general, language } = useLanguage();
  const t = useMemo(() => formatter<AlertKey>(catalogs[language], language), [language]);
  return { t, general, language };
}
