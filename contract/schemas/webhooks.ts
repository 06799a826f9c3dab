/** Webhooks: their URLs, signing secrets and event types. */
import { z } from "zod";
import { webhookFormats } from "../admin/constants.ts";
import { schemaText } from "../messages/schema-messages.ts";
import { mailAddress, name } from "./names.ts";

/** Unlike an upstream's URL it may have a query: many receivers are identified by it. */
const url = z
  .string()
  .max(2000)
  .superRefine((text, context) => {
    const problem = urlProblem(text);
    if (problem) context.addIssue({ code: "custom", message: problem });
  });

function urlProblem(text: string): string | undefined {
  if (/[\s\p{C}]/u.test(text) || !URL.canParse(text)) return schemaText("no_url");
  const { protocol, username, password, pathname } = new URL(text);
  if (protocol === "mailto:") return addressProblem(pathname, text);
  if (protocol !== "http:" && protocol !== "https:") return schemaText("webhook_scheme");
  if (username || password) return schemaText("webhook_no_user");
  return text.includes("#") ? schemaText("url_no_fragment") : undefined;
}

const maxAddresses = 20;

/** `mailto:` and e-mail addresses with commas between them. */
function addressProblem(pathname: string, text: string): string | undefined {
  if (text.includes("?") || text.includes("#")) return schemaText("mail_only");
  const addresses = pathname.split(",");
  if (addresses.length > maxAddresses) return schemaText("mail_max", { max: maxAddresses });
  const isValid = addresses.every((each) => mailAddress.safeParse(each).success);
  return isValid ? undefined : schemaText("mail_invalid");
}

// Standard Webhooks 1.0.0, "Signature scheme": between 24 and 64 bytes, in base64, after `whsec_`.
const [minSecretBytes, maxSecretBytes] = [24, 64];
const base64 = /^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const secret = z
  .string()
  .max(200)
  .refine(
    (text) => {
      if (!base64.test(text)) return false;
      const { length } = atob(text.slice("whsec_".length));
      return length >= minSecretBytes && length <= maxSecretBytes;
    },
    schemaText("webhook_secret", { min: minSecretBytes, max: maxSecretBytes }),
  );

export const webhook = z.strictObject({
  /** By which alert rules name it. The store has it as the id. */
  name: name.optional(),
  url,
  /** Signs the requests of the format `standard`, and of no other. */
  secret: secret.optional(),
  format: z.enum(webhookFormats).default("standard"),
  /** Globs over event types. */
  events: z.array(z.string().min(1).max(200)).min(1).max(100).default(["*"]),
});
