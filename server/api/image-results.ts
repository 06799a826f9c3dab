/**
 * GET /v1/images/results/{id}: the stored response of an image request with an Idempotency-Key, or whose client
 * disconnected. Clients poll it: 202 Accepted until the response is there.
 */
import { authenticate } from "../auth/authenticate.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { decodePathSegment, type Handler, json } from "../http/route.ts";
import type { IdempotencyStore } from "../idempotency/idempotency-store.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { StreamedResponseBody } from "../request/http-types.ts";
import { openBody } from "../request/open-body.ts";

interface ImageResultsOptions {
  readonly snapshot: () => Snapshot;
  readonly store: IdempotencyStore;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The `retry-after` of a request that is still in progress. */
const retryAfterSeconds = 2;

export const createImageResultHandler =
  ({ snapshot, store, now }: ImageResultsOptions): Handler<"id"> =>
  async (incoming, { id: encodedId }) => {
    const caller = authenticate(incoming.headers, snapshot(), now());
    const id = decodePathSegment(encodedId);
    const found = await store.findById(caller.id, id);
    if (found === "in_progress") {
      const { headers, ...response } = json(
        { id, object: "image.result", status: "in_progress" },
        202,
      );
      return { ...response, headers: { ...headers, "retry-after": String(retryAfterSeconds) } };
    }
    if (!found) {
      throw new GatewayError(
        "result_not_found",
        "No response is stored for this request ID. Responses are stored for a limited time, for image requests with an Idempotency-Key and for image requests whose client disconnected before the end.",
      );
    }
    // HEAD delivers nothing: a client that polls with it can still get the response by a retry of its request.
    const endDelivery =
      incoming.method === "HEAD" ? undefined : store.startDelivery(caller.id, found);
    const body: StreamedResponseBody = {
      ...found,
      close: async (isComplete) => endDelivery?.(isComplete),
    };
    return {
      status: 200,
      headers: { ...found.headers, "vexel-replayed-from": found.requestId },
      body: endDelivery ? await openBody(body) : body,
    };
  };
