/** Provides the current language and its translation function to all components. */
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { loadChunk } from "../api/chunks.ts";
import { setNumberLocale } from "../lib/format.ts";
import {
  type Catalog,
  initialLanguage,
  type Language,
  LanguageContext,
  loadCatalog,
  storeLanguage,
  translator,
} from "./messages.ts";
import { setServerTexts } from "./server-text.ts";

interface LoadedLanguage extends Catalog {
  readonly language: Language;
}

const load = async (language: Language): Promise<LoadedLanguage> => ({
  language,
  ...(await loadChunk(loadCatalog[language])),
});

/** The language with which the console starts. */
export const loadInitialLanguage = (): Promise<LoadedLanguage> => load(initialLanguage());

export function LanguageProvider({
  initial,
  children,
}: {
  initial: LoadedLanguage;
  children: ReactNode;
}) {
  const [loaded, setLoaded] = useState(initial);
  const { language, messages, server } = loaded;
  useEffect(() => {
    document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  }, [language]);
  const value = useMemo(() => {
    setServerTexts(server, language);
    setNumberLocale(language === "zh" ? "zh-CN" : "en-US");
    // A language that was not chosen is not stored: the language of the browser may change.
    const choose = async (chosen: Language): Promise<void> => {
      setLoaded(await load(chosen));
      storeLanguage(chosen);
    };
    return {
      language,
      setLanguage: (chosen: Language) => void choose(chosen),
      t: translator(messages, language),
    };
  }, [language, messages, server]);
  return <LanguageContext value={value}>{children}</LanguageContext>;
}
