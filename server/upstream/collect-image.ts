/** Collects the chunks of an image: in memory when small, spilled to disk when large. */
import { GatewayError } from "../lib/gateway-error.ts";
import type { Scratch } from "../lib/request-temp.ts";
import type { Held } from "../lib/spill-buffer.ts";
import type { NamelessFile } from "../lib/unlinked-temp-file.ts";
import type { ImageContent } from "./contract.ts";

export type CollectedImage = Extract<ImageContent, { kind: "bytes" | "aside" }>;

/** Images up to this size stay in memory. */
const shortBytes = 128 * 1024;
/** Enough bytes to detect the image type. */
const startBytes = 128;

export async function collectImage(
  pieces: AsyncIterable<Uint8Array>,
  scratch: Scratch,
): Promise<CollectedImage> {
  const short: Uint8Array[] = [];
  let size = 0;
  let held: Held | undefined;
  for await (const piece of pieces) {
    size += piece.length;
    // Copied, because a chunk is valid only until the next one is read.
    if (held) await put(held, [new Uint8Array(piece)]);
    else {
      short.push(new Uint8Array(piece));
      if (size <= shortBytes) continue;
      held = scratch.hold();
      await put(held, short.splice(0));
    }
  }
  return held
    ? { kind: "aside", aside: await toSpilledImage(held) }
    : { kind: "bytes", bytes: Buffer.concat(short) };
}

export async function toSpilledImage(
  file: NamelessFile | Held,
): Promise<Extract<CollectedImage, { kind: "aside" }>["aside"]> {
  const { path, size } = file;
  return {
    length: size,
    encoding: "raw",
    start: await file.read(0, Math.min(startBytes, size)),
    ...(path !== undefined && { path }),
    lend: () => file.lend(),
    stream: () => file.stream(),
    bytes: () => file.read(0, size),
    end: (bytes) => file.read(Math.max(0, size - bytes), Math.min(bytes, size)),
  };
}

async function put(held: Held, pieces: readonly Uint8Array[]): Promise<void> {
  try {
    for (const piece of pieces) await held.append(piece);
  } catch (cause) {
    throw new GatewayError("storage_unavailable", "A picture could not be written to disk.", {
      cause,
      retryAfterMs: 5000,
    });
  }
}
