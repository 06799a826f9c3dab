/** The error of a field in the language of the user. A file of its own: only pages with forms load these messages. */
import { schemaMessageOf } from "../../../contract/messages/schema-messages.ts";
import { serverText } from "./server-text.ts";

/** The message of a schema that the form has validated itself, or a text that is translated already. */
export const fieldErrorText = (text: string): string =>
  serverText(text, schemaMessageOf(text)?.i18n);
