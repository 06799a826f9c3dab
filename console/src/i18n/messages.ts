/**
 * The languages of the console and the current one. The choice is kept in this browser. Messages have the format of
 * ICU: `{name}`, `{count, number}`, `{count, plural, one {# line} other {# lines}}`.
 */
import { IntlMessageFormat } from "intl-messageformat";
import { createContext, use } from "react";
import type { Messages, Translate } from "./message-keys.ts";
import type { ServerTexts } from "./server-text.ts";

export type { Translate } from "./message-keys.ts";

export const languages = { en: "English", zh: "简体中文" } as const;
export type Language = keyof typeof languages;

export interface Catalog {
  readonly messages: Messages;
  /** Translations of the texts of the gateway. The default is English, as the gateway sends them. */
  readonly server?: ServerTexts;
}

/** Only the messages of the chosen language are loaded. */
export const loadCatalog: Readonly<Record<Language, () => Promise<Catalog>>> = {
  en: async () => ({ messages: (await import("./en.ts")).en }),
  zh: async () => {
    const [{ zh }, { zhServer }] = await Promise.all([
      import("./zh.ts"),
      import("./zh-server/index.ts"),
    ]);
    return { messages: zh, server: zhServer };
  },
};

/** Formats the messages of a catalog, also of one that only its page loads. */
export function formatter<Key extends string>(
  messages: Readonly<Record<Key, string>>,
  language: Language,
) {
  const formats = new Map<Key, IntlMessageFormat>();
  return (key: Key, values?: Readonly<Record<string, string | number>>): string => {
    let format = formats.get(key);
    if (!format) {
      format = new IntlMessageFormat(messages[key], language, undefined, { ignoreTag: true });
      formats.set(key, format);
    }
    return String(format.format(values));
  };
}

export const translator = (messages: Messages, language: Language): Translate =>
  formatter(messages, language) as Translate;

const storageKey = "vexel.language";

export function initialLanguage(): Language {
  const stored = localStorage.getItem(storageKey);
  if (stored === "en" || stored === "zh") return stored;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export const storeLanguage = (language: Language): void =>
  localStorage.setItem(storageKey, language);

interface LanguageValue {
  readonly language: Language;
  readonly t: Translate;
  readonly setLanguage: (language: Language) => void;
}

export const LanguageContext = createContext<LanguageValue | undefined>(undefined);

export function useLanguage(): LanguageValue {
  const value = use(LanguageContext);
  if (!value) throw new Error("A component with texts is outside the LanguageProvider");
  return value;
}

/** The translation function of the current language. */
export const useT = (): Translate => useLanguage().t;
