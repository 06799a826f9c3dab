/**
 * One delivery attempt: a POST of an event to a webhook, with an HMAC signature or as a message of a chat, or an e-mail.
 * With a timeout and without redirects.
 */

import { createHmac } from "node:crypto";
import type { Webhook } from "../config/snapshot.ts";
import { errorMessage } from "../lib/error-code.ts";
import { startTimeout } from "../lib/timers.ts";
import type { StoredEvent } from "../storage/sql/event-store.ts";
import { slackMessage, teamsMessage } from "./formats/chat-messages.ts";
import type { SendMail } from "./formats/send-mail.ts";

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
  readonly sendMail: SendMail;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const isMail = ({ url }: Webhook): boolean => url.startsWith("mailto:");

/**
 * How long an attempt may take. A mail server takes longer than a web server: it may delay its greeting, and scan the
 * mail before it accepts it. A mail that was sent completely before the timeout would arrive twice.
 */
export const attemptTimeoutMs = (webhook: Webhook): number => (isMail(webhook) ? 60_000 : 10_000);

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
  { post, sendMail, now }: AttemptOptions,
): Promise<AttemptResult> {
  const { owner, url } = webhook;
  const timeoutMs = attemptTimeoutMs(webhook);
  const timeoutError = new Error(`no response within ${timeoutMs / 1000} seconds`);
  const stopTimeout = startTimeout(timeoutMs, () => abort.abort(timeoutError));
  try {
    if (isMail(webhook)) {
      await sendMail(url, event, abort.signal);
      return { delivered: true, status: null, problem: null };
    }
    const { status, retryAfterMs } = await post(
      { url, ...messageFor(webhook, event, now()), isOfClient: owner !== undefined },
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
    stopTimeout();
  }
}

/** The body and the headers in the format of the receiver. */
function messageFor(webhook: Webhook, event: StoredEvent, at: number) {
  const { owner, format } = webhook;
  const type = { "content-type": "application/json" };
  if (format === "slack") return { headers: type, body: JSON.stringify(slackMessage(event)) };
  if (format === "teams") return { headers: type, body: JSON.stringify(teamsMessage(event)) };
  const body = JSON.stringify(owner === undefined ? payloadOf(event) : clientPayloadOf(event));
  const timestamp = Math.floor(at / 1000);
  const signatures = [webhook.secret, webhook.previousSecret].flatMap((secret) =>
    secret === undefined ? [] : [signWebhook({ id: event.id, timestamp, body }, secret)],
  );
  const headers = {
    ...type,
    "webhook-id": event.id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatures.join(" "),
  };
  return { headers, body };
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
