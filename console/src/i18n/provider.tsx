/** Provides the current language and its translation function to all components. */
import { type ReactNode, useEffect, useMemo, useState } from "react";
import type { Messages } from "./message-keys.ts";
import {
  initialLanguage,
  type Language,
  LanguageContext,
  loadMessages,
  storeLanguage,
  translator,
} from "./messages.ts";
import { setServerTextLanguage } from "./server-text.ts";

export interface LoadedLanguage {
  readonly language: Language;
  readonly messages: Messages;
}

const load = async (language: Language): Promise<LoadedLanguage> => ({
  language,
  messages: await loadMessages[language](),
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
  const { language, messages } = loaded;
  useEffect(() => {
    document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  }, [language]);
  const value = useMemo(() => {
    setServerTextLanguage(language);
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
  }, [language, messages]);
  return <LanguageContext value={value}>{children}</LanguageContext>;
}
