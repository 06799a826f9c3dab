/** The messages of the gateway. The console has a translation of each id. */
import type { ErrorKind } from "../errors.ts";
import { adminErrors } from "./admin-errors.ts";
import { createMessages } from "./message-format.ts";
import { schemaMessages } from "./schema-messages.ts";
import { statusMessages } from "./status-messages.ts";
import { stepMessages } from "./step-messages.ts";

export const messageTexts = {
  ...adminErrors,
  ...schemaMessages,
  ...statusMessages,
  ...stepMessages,
} as const;

/** Messages whose English text depends on the value that is refused. */
export const validationIds = [
  "type_invalid",
  "value_unsupported",
  "too_small",
  "too_large",
  "parameter_unknown",
] as const;

export type MessageId =
  | keyof typeof messageTexts
  | (typeof validationIds)[number]
  | `error.${ErrorKind}`;

export const message = createMessages(messageTexts);
