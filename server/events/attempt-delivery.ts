/** One attempt to bring one event to one webhook: signed, timed, and never followed elsewhere. */
import type { Webhook } from "../config/snapshot.ts";
import type { AbortSignalLike, AbortSource } from "../lib/abort-signal.ts";
import type { StoredEvent } from "../storage/events.ts";
import { signWebhook } from "./sign-webhook.ts";

export interface PostResponse {
  readonly status: number;
  readonly retryAfterMs?: number;
}

/** Sends a body with POST and follows no redirect. Throws an Error whose words say what went wrong. */
export type Post = (
  request: {
    readonly url: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
  },
  signal: AbortSignalLike,
) => Promise<PostResponse>;

export interface AttemptResult {
  readonly delivered: boolean;
  /** Null where nothing was answered. */
  readonly status: number | null;
  /** Null where there is none. */
  readonly problem: string | null;
  readonly retryAfterMs?: number;
}

export interface AttemptOptions {
  readonly post: Post;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly timeoutMs: number;
}

/** What a webhook is sent, in the shape that Standard Webhooks recommends. */
export const payloadOf = ({ id, type, at, data }: StoredEvent) => ({
  id,
  type,
  timestamp: new Date(at).toISOString(),
  data,
});

export async function attemptDelivery(
  webhook: Webhook,
  event: StoredEvent,
  cancel: AbortSource,
  { post, now, timeoutMs }: AttemptOptions,
): Promise<AttemptResult> {
  const body = JSON.stringify(payloadOf(event));
  const timestamp = Math.floor(now() / 1000);
  const headers = {
    "content-type": "application/json",
    "webhook-id": event.id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signWebhook({ id: event.id, timestamp, body }, webhook.secret),
  };
  const late = new Error(`it did not answer within ${timeoutMs / 1000} seconds`);
  const timer = setTimeout(() => cancel.abort(late), timeoutMs);
  try {
    const { status, retryAfterMs } = await post({ url: webhook.url, headers, body }, cancel);
    const delivered = status >= 200 && status < 300;
    return {
      delivered,
      status,
      problem: delivered ? null : `it answered ${status}`,
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    };
  } catch (error) {
    const why = cancel.aborted ? cancel.reason : error;
    return {
      delivered: false,
      status: null,
      problem: why instanceof Error ? why.message : String(why),
    };
  } finally {
    clearTimeout(timer);
  }
}
