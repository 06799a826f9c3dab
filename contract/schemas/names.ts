/** Names, ids and secrets. */
import { z } from "zod";
import { schemaText } from "../messages/schema-messages.ts";

/** An id that clients send and URLs contain: printable, without spaces. */
export const id = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\s\p{C}]*$/u, schemaText("no_spaces"));

export const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\p{C}]*$/u, schemaText("no_line_breaks"));

/** One address of a mailbox, without a name. */
export const mailAddress = z
  .string()
  .max(254)
  .regex(/^[^\s@,<>"]{1,64}@[^\s@,<>"]{1,190}$/, schemaText("mail_address"));

/** Sent in a header: a trailing line break, which secret files often have, would break every request. */
export const secret = z
  .string()
  .min(1)
  .max(4096)
  .regex(/^[\x21-\x7e]*$/, schemaText("only_visible_ascii"));
