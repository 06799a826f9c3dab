/** Translates texts that the server generates. A text that is not in the catalog stays English. */
import type { Language } from "./messages.ts";
import { zhServer } from "./zh-server.ts";

interface Template {
  readonly pattern: RegExp;
  readonly translation: string;
}

/** Templates with more text of their own first: `Invalid '{}': {}` matches many texts. */
const templates: readonly Template[] = Object.entries(zhServer)
  .sort(([a], [b]) => b.length - a.length)
  .map(([english, translation]) => ({
    pattern: new RegExp(
      `^${english.replaceAll(/[.*+?^$()|[\]\\/]/g, "\\$&").replaceAll("{}", "(.*)")}$`,
      "s",
    ),
    translation,
  }));

let shownLanguage: Language = "en";
/** Called before the components are rendered in this language. */
export const setServerTextLanguage = (language: Language): void => {
  shownLanguage = language;
};

export function serverText(text: string, language = shownLanguage): string {
  if (language === "en") return text;
  for (const { pattern, translation } of templates) {
    const values = pattern.exec(text)?.slice(1);
    if (values) {
      return translation.replaceAll(/\{(\d)\}/g, (_, number: string) =>
        serverText(values[Number(number) - 1] ?? "", language),
      );
    }
  }
  return text;
}
