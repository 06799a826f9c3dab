/** The keys of the messages. A file of its own, because the other languages and `messages.ts` need the types. */
import type { en } from "./en.ts";

export type MessageKey = keyof typeof en;
export type Messages = Readonly<Record<MessageKey, string>>;
