/**
 * Opens a stored body before the head of its response is sent: a storage that cannot be read is then an error response,
 * and not a response that breaks off.
 */
import { errorMessage } from "../lib/error-code.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { StreamedResponseBody } from "./http-types.ts";

/** Reads the first chunk. Closes the body and rejects with `storage_unavailable` if that fails. */
export async function openBody(body: StreamedResponseBody): Promise<StreamedResponseBody> {
  const chunks = body.open()[Symbol.asyncIterator]();
  try {
    const first = await chunks.next();
    if (first.done && body.length > 0) throw new Error("the stored bytes are missing");
    return {
      length: body.length,
      open: async function* () {
        if (first.done) return;
        yield first.value;
        yield* { [Symbol.asyncIterator]: () => chunks };
      },
      close: async (isComplete) => {
        try {
          // Also closes a body that was not sent.
          await chunks.return?.();
        } catch {
          // The client does not get the rest, so an error of the storage changes nothing.
        }
        await body.close(isComplete);
      },
    };
  } catch (cause) {
    await body.close(false);
    throw unreadableError(cause);
  }
}

export const unreadableError = (cause: unknown): GatewayError =>
  new GatewayError(
    "storage_unavailable",
    "The stored response cannot be read at the moment. Retry later.",
    { cause, retryAfterMs: 2000, logDetail: errorMessage(cause) },
  );
