/** Provides the current language and its translation function to all components. */
import { type ReactNode, useEffect, useMemo, useState } from "react";
import {
  catalogs,
  initialLanguage,
  type Language,
  LanguageContext,
  storeLanguage,
  translator,
} from "./messages.ts";
import { setServerTextLanguage } from "./server-text.ts";

export function LanguageProvider({ children }: { children: ReactNode }) {
  const [language, setLanguage] = useState(initialLanguage);
  useEffect(() => {
    document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  }, [language]);
  const value = useMemo(() => {
    setServerTextLanguage(language);
    // A language that was not chosen is not stored: the language of the browser may change.
    const choose = (chosen: Language): void => {
      storeLanguage(chosen);
      setLanguage(chosen);
    };
    return { language, setLanguage: choose, t: translator(catalogs[language]) };
  }, [language]);
  return <LanguageContext value={value}>{children}</LanguageContext>;
}
