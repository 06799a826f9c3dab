/** Reads messages in the format of ICU. */
import { IntlMessageFormat } from "intl-messageformat";
import type { Language } from "../../console/src/i18n/messages.ts";

/** The type of an element that is text, without a value. */
const literal = 0;

/** The names of the values of a message. Throws if the message is not valid. */
export function valuesIn(message: string, language: Language): string[] {
  const names = new Set<string>();
  const visit = (elements: ReturnType<IntlMessageFormat["getAst"]>): void => {
    for (const element of elements) {
      if ("options" in element)
        for (const { value } of Object.values(element.options)) visit(value);
      if ("value" in element && element.type !== literal) names.add(element.value);
    }
  };
  visit(new IntlMessageFormat(message, language, undefined, { ignoreTag: true }).getAst());
  return [...names].sort();
}
