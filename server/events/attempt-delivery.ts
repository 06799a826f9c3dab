/** One delivery attempt: a POST of an event to a webhook with an HMAC signature, a timeout and no redirects. */

import { createHmac } from "node:crypto";
import type { Webhook } from "../config/snapshot.ts";
import { errorMessage } from "../lib/error-code.ts";
import type { StoredEvent } from "../storage/ports/event-store.ts";

interface PostResponse {
  readonly status: number;
  readonly retryAfterMs?: number;
}

/** Sends a body with POST and follows no redirects. Throws an Error with a message for the operator. */
export type Post = (
  request: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    /** The URL is a client's: it must lead to a public address. */
    readonly isOfClient: boolean;
  },
  signal: AbortSignal,
) => Promise<PostResponse>;

export interface AttemptResult {
  readonly delivered: boolean;
  /** Null without a response. */
  readonly status: number | null;
  /** Null if the event was delivered. */
  readonly problem: string | null;
  readonly retryAfterMs?: number;
}

export interface AttemptOptions {
  readonly post: Post;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly timeoutMs: number;
}

/** The payload of a webhook, in the form that Standard Webhooks recommends. */
export const payloadOf = ({ id, type, at, data }: StoredEvent) => ({
  id,
  type,
  timestamp: new Date(at).toISOString(),
  data,
});

/** The payload for a webhook endpoint of a client, in OpenAI's form. */
const clientPayloadOf = ({ id, type, at, data }: StoredEvent) => ({
  id,
  object: "event",
  type,
  created_at: Math.floor(at / 1000),
  data,
});

export async function attemptDelivery(
  webhook: Webhook,
  event: StoredEvent,
  abort: AbortController,
  { post, now, timeoutMs }: AttemptOptions,
): Promise<AttemptResult> {
  const { owner, secret, previousSecret } = webhook;
  const body = JSON.stringify(owner === undefined ? payloadOf(event) : clientPayloadOf(event));
  const timestamp = Math.floor(now() / 1000);
  const secrets = previousSecret === undefined ? [secret] : [secret, previousSecret];
  const headers = {
    "content-type": "application/json",
    "webhook-id": event.id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": secrets
      .map((each) => signWebhook({ id: event.id, timestamp, body }, each))
      .join(" "),
  };
  const timeoutError = new Error(`no response within ${timeoutMs / 1000} seconds`);
  const timer = setTimeout(() => abort.abort(timeoutError), timeoutMs);
  try {
    const { status, retryAfterMs } = await post(
      { url: webhook.url, headers, body, isOfClient: owner !== undefined },
      abort.signal,
    );
    const delivered = status >= 200 && status < 300;
    return {
      delivered,
      status,
      problem: delivered ? null : `response status ${status}`,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    };
  } catch (error) {
    const reason = abort.signal.aborted ? abort.signal.reason : error;
    return {
      delivered: false,
      status: null,
      problem: errorMessage(reason),
    };
  } finally {
    clearTimeout(timer);
  }
}

interface SignedContent {
  readonly id: string;
  /** Unix seconds of this attempt, not of the event. */
  readonly timestamp: number;
  /** Exactly as it is sent. */
  readonly body: string;
}

const prefix = "whsec_";

/**
 * The webhook signature of a delivery, as in Standard Webhooks 1.0.0 (github.com/standard-webhooks/standard-webhooks,
 * spec/standard-webhooks.md, "Signature scheme"): HMAC-SHA256 over `id.timestamp.body`, in base64, behind `v1,`.
 * `secret`: `whsec_` and the key in base64.
 */
export function signWebhook({ id, timestamp, body }: SignedContent, secret: string): string {
  const key = Buffer.from(secret.slice(prefix.length), "base64");
  return `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`;
}
