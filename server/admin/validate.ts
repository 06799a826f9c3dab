/** Validates bodies and queries of the admin API, with errors that the console translates. */
import type { z } from "zod";
import { type MessageId, message } from "../../contract/messages/message.ts";
import type { Translatable } from "../../contract/messages/message-format.ts";
import { schemaMessageOf } from "../../contract/messages/schema-messages.ts";
import { validationError } from "../http/validation-error.ts";
import { GatewayError } from "../lib/gateway-error.ts";

export function validate<Schema extends z.ZodType>(
  schema: Schema,
  value: Readonly<Record<string, unknown>>,
): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const error = validationError(result.error, value, schema);
  const [issue] = result.error.issues;
  if (!issue || error.i18n) throw error;
  const i18n = translatable(issue, error);
  throw new GatewayError(error.kind, { text: error.message, i18n }, error.details);
}

function translatable(
  issue: z.core.$ZodIssue,
  { kind, details: { param = "" } }: GatewayError,
): Translatable {
  const made = (id: MessageId, values: Translatable["values"] = {}): Translatable => ({
    id,
    values: { param, ...values },
  });
  if (kind === "missing_parameter") return made("parameter_missing");
  switch (issue.code) {
    case "invalid_type":
      return made("type_invalid");
    case "invalid_value":
      return made("value_unsupported", { values: issue.values.map(String).join(", ") });
    case "too_small":
      return made("too_small", { minimum: String(issue.minimum) });
    case "too_big":
      return made("too_large", { maximum: String(issue.maximum) });
    case "unrecognized_keys":
      return made("parameter_unknown");
    default: {
      const reason = schemaMessageOf(issue.message) ?? issue.message;
      return message("parameter_invalid", { param, reason }).i18n;
    }
  }
}
