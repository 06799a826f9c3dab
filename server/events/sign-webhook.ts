/**
 * The webhook signature of a delivery, as in Standard Webhooks 1.0.0 (github.com/standard-webhooks/standard-webhooks,
 * spec/standard-webhooks.md, "Signature scheme"): HMAC-SHA256 over `id.timestamp.body`, in base64, behind `v1,`.
 */
import { createHmac } from "node:crypto";

export interface SignedContent {
  readonly id: string;
  /** Unix seconds of this attempt, not of the event. */
  readonly timestamp: number;
  /** Exactly as it is sent. */
  readonly body: string;
}

const prefix = "whsec_";

/** `secret`: `whsec_` and the key in base64. */
export function signWebhook({ id, timestamp, body }: SignedContent, secret: string): string {
  const key = Buffer.from(secret.slice(prefix.length), "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}
