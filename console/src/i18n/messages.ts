/** The languages of the console and the current one. The choice is kept in this browser. */
import { createContext, use } from "react";
import { en } from "./en.ts";
import type { MessageKey, Messages } from "./message-keys.ts";
import { zh } from "./zh.ts";

export const languages = { en: "English", zh: "简体中文" } as const;
export type Language = keyof typeof languages;

export const catalogs: Readonly<Record<Language, Messages>> = { en, zh };

type Values = Readonly<Record<string, string | number>>;
export type Translate = (key: MessageKey, values?: Values) => string;

/**
 * `{name}` in a message is replaced by the value of that name, and `{name:hour|hours}` by the first word if the value
 * is 1, else by the second.
 */
export const translator =
  (messages: Messages): Translate =>
  (key, values = {}) =>
    messages[key].replace(
      /\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g,
      (placeholder, name: string, one?: string, other?: string) =>
        one === undefined
          ? String(values[name] ?? placeholder)
          : ((Number(values[name]) === 1 ? one : other) ?? placeholder),
    );

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

export const LanguageContext = createContext<LanguageValue>({
  language: "en",
  t: translator(en),
  setLanguage: () => {},
});

export const useLanguage = (): LanguageValue => use(LanguageContext);
/** The translation function of the current language. */
export const useT = (): Translate => useLanguage().t;
