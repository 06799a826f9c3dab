/** What every blob store needs from the source of a blob: its size, its bytes, and the error if it cannot be stored. */
import { decodeBase64Stream, InvalidBase64 } from "../lib/base64-stream.ts";
import type { BorrowedBytes } from "../lib/borrowed-bytes.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { BlobSource } from "./ports/blob-store.ts";

/** The maximum size of the blob in bytes: padding and line breaks of base64 count. */
export const blobSize = (source: BlobSource): number =>
  source instanceof Uint8Array || source.encoding === "raw"
    ? source.length
    : Math.ceil((source.length * 3) / 4);

/** Throws InvalidBase64, and the errors of the source. */
export async function* blobChunks(source: BlobSource): AsyncGenerator<BorrowedBytes> {
  if (source instanceof Uint8Array) yield source;
  else if (source.encoding === "base64") yield* decodeBase64Stream(source.stream());
  else yield* source.stream();
}

export function blobError(cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause;
  if (cause instanceof InvalidBase64) {
    const message = "The upstream's response is not usable: its image is not base64.";
    return new GatewayError("upstream_invalid", message, { cause });
  }
  const message = "The image could not be stored. Retry later, or use response_format b64_json.";
  return new GatewayError("storage_unavailable", message, { cause });
}
