/** Messages for people with an id and values, so that clients translate by the id and never by the English text. */

/** A text to translate. A value may be a text of its own. */
export interface Translatable {
  readonly id: string;
  readonly values: Readonly<Record<string, string | number | Translatable>>;
}

export interface Message {
  /** English. */
  readonly text: string;
  readonly i18n: Translatable;
}

type NamesIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NamesIn<Rest>
  : never;

/** Nothing, if the text has no values. */
export type ValuesIn<Text> = [NamesIn<Text>] extends [never]
  ? []
  : [values: Readonly<Record<NamesIn<Text>, string | number | Message>>];

type Value = string | number | Message;
const textOf = (value: Value | undefined): string =>
  typeof value === "object" ? value.text : String(value);

/** `text`: English, with `{name}` for each value. */
export const formatMessage = (
  id: string,
  text: string,
  values: Readonly<Record<string, Value>>,
): Message => ({
  text: text.replaceAll(/\{(\w+)\}/g, (_, name: string) => textOf(values[name])),
  i18n: {
    id,
    values: Object.fromEntries(
      Object.entries(values).map(([name, value]) => [
        name,
        typeof value === "object" ? value.i18n : value,
      ]),
    ),
  },
});

/** Makes the messages of a table of English texts. */
export const createMessages =
  <Texts extends Readonly<Record<string, string>>>(texts: Texts) =>
  <Id extends keyof Texts & string>(id: Id, ...[values]: ValuesIn<Texts[Id]>): Message =>
    formatMessage(id, texts[id] ?? "", values ?? {});
