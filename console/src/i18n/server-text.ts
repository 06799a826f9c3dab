/** Texts of the gateway in the language of the user, translated by their ids. In English they are shown as sent. */
import { IntlMessageFormat } from "intl-messageformat";
import type { ErrorKind } from "../../../contract/errors.ts";
import type { MessageId } from "../../../contract/messages/message.ts";
import type { Translatable } from "../../../contract/messages/message-format.ts";

/** The translations of one language. */
export interface ServerTexts {
  readonly messages: Readonly<Record<MessageId, string>>;
  /** Of the fields of upstreams, by `kind.field`, or by `field` if it is the same for every kind. */
  readonly fieldHelp: Readonly<Record<string, string>>;
  /** What each setting does, by its name. */
  readonly settings: Readonly<Record<string, string>>;
}

let shown: { readonly texts: ServerTexts; readonly language: string } | undefined;
/** Called before the components are rendered in this language. The default is English. */
export const setServerTexts = (texts: ServerTexts | undefined, language: string): void => {
  shown = texts && { texts, language };
};

/** `text`: English. */
export function serverText(text: string, i18n: Translatable | undefined): string {
  return (i18n && translated(i18n)) ?? text;
}

function translated({ id, values }: Translatable): string | undefined {
  if (!shown || !isKnown(id, shown.texts)) return undefined;
  const message = shown.texts.messages[id];
  const format = new IntlMessageFormat(message, shown.language, undefined, { ignoreTag: true });
  const given = Object.entries(values).map(([name, value]) => [
    name,
    typeof value === "object" ? (translated(value) ?? value.id) : value,
  ]);
  return String(format.format(Object.fromEntries(given)));
}

/** A newer gateway may send an id that this page does not know. */
const isKnown = (id: string, { messages }: ServerTexts): id is MessageId =>
  Object.hasOwn(messages, id);

/** When an error occurs. `description`: English, of the error table, which only some pages load. */
export const errorDescription = (kind: ErrorKind, description: string): string =>
  serverText(description, { id: `error.${kind}`, values: {} });

/** The help of a field of an upstream. `description`: English. */
export const fieldHelp = (kind: string, field: string, description: string): string =>
  shown?.texts.fieldHelp[`${kind}.${field}`] ?? shown?.texts.fieldHelp[field] ?? description;

/** What a setting does. `description`: English. */
export const settingText = (name: string, description: string): string =>
  shown?.texts.settings[name] ?? description;
