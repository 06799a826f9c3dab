/** The keys of the messages and their values. A file of its own, because the other languages need the types. */
import type { GetICUArgs } from "@schummar/icu-type-parser";
import type { en } from "./en.ts";

export type MessageKey = keyof typeof en;
export type Messages = Readonly<Record<MessageKey, string>>;

interface ValueTypes {
  ICUArgument: string | number;
  ICUNumberArgument: number;
  ICUDateArgument: number;
}

type Values = Readonly<Record<string, string | number>>;

/**
 * The values that the English message of a key names are required. Others are allowed: of several keys, each names
 * some of the values.
 */
type ValuesOf<Key extends MessageKey> = Key extends MessageKey
  ? keyof GetICUArgs<(typeof en)[Key], ValueTypes> extends never
    ? [values?: Values]
    : [values: GetICUArgs<(typeof en)[Key], ValueTypes> & Values]
  : never;

export type Translate = <Key extends MessageKey>(key: Key, ...values: ValuesOf<Key>) => string;
