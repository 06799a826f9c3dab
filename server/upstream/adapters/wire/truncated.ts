/** Rejects inputs that a vendor reports as truncated, unless the client allowed truncation. */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { EmbeddingsQuery, EmbeddingsResponse } from "../../contract.ts";
import { truncation } from "./truncation.ts";

/**
 * `flags`: for each input, whether the response reports that it was truncated. If the client did not allow truncation,
 * the request fails as if the upstream had refused the input.
 */
export function checkTruncated(
  query: EmbeddingsQuery,
  flags: readonly unknown[],
): Pick<EmbeddingsResponse, "truncated"> {
  const at = flags.indexOf(true);
  if (at < 0) return {};
  if (truncation(query).mayTruncate) return { truncated: true };
  throw new GatewayError(
    "context_length_exceeded",
    "This input has more tokens than the model reads, and its end would be cut off. Shorten it, split it, or send `truncate: true`.",
    { param: flags.length > 1 ? `input[${at}]` : "input" },
  );
}
