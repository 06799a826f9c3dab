/** The webhooks of `vexel.yaml`: their URLs, signing secrets and event types. */
import { z } from "zod";
import { eventTypes } from "../../contract/events.ts";
import { nearestMatch } from "../lib/edit-distance.ts";
import { matchesGlob } from "../lib/glob.ts";
import { keyHash } from "../lib/key-hash.ts";
import type { Webhook } from "./snapshot.ts";

const maxWebhooks = 20;

/** Unlike an upstream's URL it may have a query: many receivers are identified by it. */
const url = z
  .string()
  .max(2000)
  .superRefine((text, context) => {
    const problem = urlProblem(text);
    if (problem) context.addIssue({ code: "custom", message: problem });
  });

function urlProblem(text: string): string | undefined {
  if (/[\s\p{C}]/u.test(text) || !URL.canParse(text)) return "is not a URL";
  const { protocol, username, password } = new URL(text);
  if (protocol !== "http:" && protocol !== "https:") return "must start with http:// or https://";
  if (username || password)
    return "must not contain a user name or password: requests are authenticated by their signature";
  return text.includes("#") ? "must not contain a fragment (#)" : undefined;
}

// Standard Webhooks 1.0.0, "Signature scheme": between 24 and 64 bytes, in base64, behind `whsec_`.
const [minSecretBytes, maxSecretBytes] = [24, 64];
const base64 = /^whsec_(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const secret = z.string().refine((text) => {
  const { length } = Buffer.from(text.slice("whsec_".length), "base64");
  return base64.test(text) && length >= minSecretBytes && length <= maxSecretBytes;
}, `must be whsec_ and ${minSecretBytes} to ${maxSecretBytes} random bytes in base64, such as: echo "whsec_$(openssl rand -base64 32)"`);

const types = Object.keys(eventTypes);

/** A glob that matches no event type is a mistake: nothing would ever be sent for it. */
const glob = z
  .string()
  .min(1)
  .max(200)
  .superRefine((text, context) => {
    if (types.some((type) => matchesGlob(text, type))) return;
    const meant = nearestMatch(text, types);
    const hint = meant === undefined ? `; known: ${types.join(", ")}` : ` (did you mean ${meant}?)`;
    context.addIssue({ code: "custom", message: `matches no event type${hint}` });
  });

const webhook = z.strictObject({
  url,
  secret,
  /** Globs over event types. */
  events: z.array(glob).min(1).max(100).default(["*"]),
});

export const webhooksSchema = z.array(webhook).max(maxWebhooks).default([]);
export const webhookKeys = Object.keys(webhook.shape);

/** Derived from the URL, so that pending deliveries find their webhook after a reload or a restart. */
export const webhookId = (address: string): string => `wh_${keyHash(address).slice(0, 16)}`;

export const buildWebhooks = (rows: z.output<typeof webhooksSchema>): [string, Webhook][] =>
  rows.map((row) => {
    const id = webhookId(row.url);
    return [id, { id, ...row }];
  });
