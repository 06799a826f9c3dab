/** How a value violates a schema that the gateway and the console share, by message id. */
import { createMessages, type Message, type ValuesIn } from "./message-format.ts";

export const schemaMessages = {
  no_line_breaks: "must not contain line breaks or invisible characters",
  no_spaces: "must not contain spaces, line breaks or invisible characters",
  only_visible_ascii:
    "contains a space, a line break or another character that is not visible ASCII",
  password_length: "must have {min} to {max} characters",
  duration_format: "must be a number of minutes, hours or days, such as 30m, 24h or 7d",
  duration_max: "must be at most 30d",
  header_name: "is not a valid header name",
  header_value: "contains a line break or another character that is not allowed in a header",
  no_url: "is not a valid URL",
  url_scheme: "must start with http:// or https://",
  url_no_user: "must not contain a username or password: use apiKey",
  url_no_query: "must not contain a query (?) or fragment (#)",
  url_no_endpoint: "must not end with the path of an endpoint: remove {path}",
  url_no_fragment: "must not contain a fragment (#)",
  webhook_no_user:
    "must not contain a username or password: requests are authenticated by their signature",
  webhook_secret:
    'must be whsec_ and {min} to {max} random bytes in base64, such as: echo "whsec_$(openssl rand -base64 32)"',
  max_patterns: "must have at most {max} patterns with * or ?",
  max_model_characters: "must have at most {max} characters in total. Use patterns with * or ?",
  max_entries: "must have at most {max} entries",
  webhook_scheme: "must start with http://, https:// or mailto:",
  mail_only: "must contain only email addresses",
  mail_max: "must have at most {max} email addresses",
  mail_invalid: "contains an invalid email address",
  mail_address: "is not an email address",
  webhook_secret_missing: "is required to sign requests",
  webhook_secret_absent: "must not be set for email",
  tag_pattern:
    "must be a tag, or a pattern with * and ?, of letters, digits, spaces and the characters _ . : / @ = + -",
  image_price_name:
    "must be a quality, a size such as 1024x1024 or <=1024x1024, or a quality and a size",
  image_price_lines: "each line must be a price, such as high 1024x1024 = 0.17",
  price_both: "must have both `input` and `output`, or neither",
  price_beside: "must have `input` and `output` if it has `imageInput` or `textOutput`",
  date_or_time: "must be a date such as 2027-01-31, or a time such as 2027-01-31T12:00:00Z",
} as const;

const message = createMessages(schemaMessages);
const made = new Map<string, Message>();

/** The English text of a message, which Zod carries. `schemaMessageOf` finds the message again. */
export function schemaText<Id extends keyof typeof schemaMessages>(
  id: Id,
  ...values: ValuesIn<(typeof schemaMessages)[Id]>
): string {
  const found = message(id, ...values);
  made.set(found.text, found);
  return found.text;
}

/** Undefined if the text is not from `schemaText`. */
export const schemaMessageOf = (text: string): Message | undefined => made.get(text);
