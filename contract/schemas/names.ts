/** Names, ids and secrets. */
import { z } from "zod";

/** An id that clients send and URLs contain: printable, without spaces. */
export const id = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\s\p{C}]*$/u, "must not contain spaces, line breaks or invisible characters");

export const name = z
  .string()
  .min(1)
  .max(200)
  .regex(/^[^\p{C}]*$/u, "must not contain line breaks or invisible characters");

/** Sent in a header: a trailing line break, which secret files often have, would break every request. */
export const secret = z
  .string()
  .min(1)
  .max(4096)
  .regex(
    /^[\x21-\x7e]*$/,
    "contains a space, a line break or another character that is not visible ASCII",
  );
