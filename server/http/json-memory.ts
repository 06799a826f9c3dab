/** Memory for JSON bodies: a limit for the bodies of all requests together, which API keys share (`KeyShares`). */
import { GatewayError } from "../lib/gateway-error.ts";
import type { KeyShares } from "../lib/key-shares.ts";

/** About the time that most requests with a large body take. */
const retryAfterMs = 2000;

/**
 * Throws GatewayError if the key has used up its share, or if no memory is left. `ownBytes`: what the same request holds
 * already.
 */
export function takeJsonMemory(
  memory: KeyShares,
  keyId: string,
  bytes: number,
  ownBytes: number,
): void {
  if (ownBytes + bytes > memory.largestShare) throw tooLarge(memory.largestShare);
  const held = memory.heldBy(keyId);
  if (!memory.mayTake(keyId, bytes)) throw held > 0 ? shareUsedUp(held) : noMemory();
  memory.take(keyId, bytes);
}

/** No retry would succeed. */
const tooLarge = (maxBytes: number): GatewayError =>
  new GatewayError(
    "request_too_large",
    `The JSON body takes more than the ${maxBytes} bytes of memory that a request may use. Send less in one request, and images as links; the gateway's operator can raise VEXEL_JSON_MEMORY_BYTES.`,
  );

const shareUsedUp = (held: number): GatewayError =>
  new GatewayError(
    "upload_limit_reached",
    `Other requests of this API key hold ${held} bytes of JSON bodies in memory, which is its share. Send fewer large bodies at once, or ask the gateway's operator to raise VEXEL_JSON_MEMORY_BYTES.`,
    { retryAfterMs },
  );

const noMemory = (): GatewayError =>
  new GatewayError(
    "overloaded",
    "The JSON bodies of other requests use all the memory that is reserved for JSON bodies. Please retry your request after a brief delay; the gateway's operator can raise VEXEL_JSON_MEMORY_BYTES.",
    { retryAfterMs },
  );
