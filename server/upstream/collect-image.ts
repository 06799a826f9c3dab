/** Collects the chunks of an image: in memory when small, spilled to disk when large. */

import { type BorrowedChunks, copyOf } from "../lib/borrowed-bytes.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import type { RequestTemp, SpillBuffer } from "../temp-storage/request-temp.ts";
import type { UnlinkedTempFile } from "../temp-storage/unlinked-temp-file.ts";
import type { ImageContent } from "./contract.ts";

export type CollectedImage = Extract<ImageContent, { kind: "bytes" | "spilled" }>;

/** Images up to this size stay in memory. */
const shortBytes = 128 * 1024;
/** Enough bytes to detect the image type. */
const startBytes = 128;

export async function collectImage(
  chunks: BorrowedChunks,
  temp: RequestTemp,
): Promise<CollectedImage> {
  const shortChunks: Uint8Array[] = [];
  let size = 0;
  let buffer: SpillBuffer | undefined;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (buffer) await put(buffer, [copyOf(chunk)]);
    else {
      shortChunks.push(copyOf(chunk));
      if (size <= shortBytes) continue;
      buffer = temp.buffer();
      await put(buffer, shortChunks.splice(0));
    }
  }
  return buffer
    ? { kind: "spilled", spilled: await toSpilledImage(buffer) }
    : { kind: "bytes", bytes: Buffer.concat(shortChunks) };
}

export async function toSpilledImage(
  file: UnlinkedTempFile | SpillBuffer,
): Promise<Extract<CollectedImage, { kind: "spilled" }>["spilled"]> {
  const { path, size } = file;
  return {
    length: size,
    encoding: "raw",
    start: await file.read(0, Math.min(startBytes, size)),
    ...(path !== undefined && { path }),
    keepOpen: () => file.keepOpen(),
    stream: () => file.stream(),
    bytes: () => file.read(0, size),
    tail: (bytes) => file.read(Math.max(0, size - bytes), Math.min(bytes, size)),
  };
}

async function put(buffer: SpillBuffer, chunks: readonly Uint8Array[]): Promise<void> {
  try {
    for (const chunk of chunks) await buffer.append(chunk);
  } catch (cause) {
    throw new GatewayError("storage_unavailable", "An image could not be written to disk.", {
      cause,
      retryAfterMs: 5000,
    });
  }
}
