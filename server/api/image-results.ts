/** GET /v1/images/results/{id}: the answer to an image call whose caller left, or that was made with an Idempotency-Key. */
import { authenticate } from "../auth/authenticate.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { decodePathSegment, json } from "../http/json-response.ts";
import type { IdempotencyStore } from "../idempotency/idempotency-store.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { IncomingRequest, OutgoingResponse } from "../request/http-types.ts";

export interface ImageResultsOptions {
  readonly snapshot: () => Snapshot;
  readonly store: IdempotencyStore;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** How soon it is worth asking again. */
const retryAfterSeconds = 2;

export const createImageResultHandler =
  ({ snapshot, store: kept, now }: ImageResultsOptions) =>
  async (incoming: IncomingRequest, part: string): Promise<OutgoingResponse> => {
    const caller = authenticate(incoming.headers, snapshot(), now());
    const id = decodePathSegment(part);
    const found = await kept.findById(caller.id, id);
    if (found === "in_progress") {
      const { headers, ...told } = json({ id, object: "image.result", status: "in_progress" }, 202);
      return { ...told, headers: { ...headers, "retry-after": String(retryAfterSeconds) } };
    }
    if (!found) {
      throw new GatewayError(
        "result_not_found",
        "No answer is kept for this id. Answers are kept for calls with an Idempotency-Key, and for calls whose caller left before they were done, for a while.",
      );
    }
    const from = { "vexel-replayed-from": found.requestId };
    const close = async (): Promise<void> => undefined;
    return { status: 200, headers: { ...found.headers, ...from }, body: { ...found, close } };
  };
