import { type ReactNode, useEffect, useMemo, useState } from "react";
import {
  catalogs,
  initialLanguage,
  LanguageContext,
  storeLanguage,
  translator,
} from "./messages.ts";
import { setServerTextLanguage } from "./server-text.ts";

export function LanguageProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState(initialLanguage);
  useEffect(() => {
    storeLanguage(language);
    document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  }, [language]);
  const value = useMemo(() => {
    setServerTextLanguage(language);
    return { language, setLanguage, t: translator(catalogs[language]) };
  }, [language]);
  return <LanguageContext value={value}>{children}</LanguageContext>;
}
