/**
 * Decompresses responses of upstreams that compress although the request excludes it. Decompression bombs are bounded:
 * chunks are decompressed in the runtime's threads, so other requests do not wait, and never beyond the size limit.
 */
import { pipeline, Readable } from "node:stream";
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createZstdDecompress,
} from "node:zlib";
import { ChunkedBytes } from "../lib/chunked-bytes.ts";
import { GatewayError } from "../lib/gateway-error.ts";
import { tooLarge } from "./transport/transport-error.ts";

/** Size of a decompressed chunk: each is one task of a thread. */
const options = { chunkSize: 256 * 1024 };

const codings: Readonly<Record<string, () => NodeJS.ReadWriteStream>> = {
  gzip: () => createGunzip(options),
  "x-gzip": () => createGunzip(options),
  deflate: () => createInflate(options),
  br: () => createBrotliDecompress(options),
  zstd: () => createZstdDecompress(options),
};

/** `coding`: the response's content-encoding, in lower case. */
export const isCompressed = (coding: string | undefined): coding is string =>
  coding !== undefined && !uncompressed.has(coding);

/** `identity`, and what misconfigured servers write instead of it: nothing, or the charset. */
const uncompressed: ReadonlySet<string> = new Set(["", "identity", "none", "utf-8", "utf8"]);

/** Decompresses as chunks arrive. The reader bounds the bytes. */
export async function* decompressing(
  chunks: AsyncIterable<Uint8Array>,
  coding: string,
): AsyncGenerator<Uint8Array> {
  const stream = codings[coding]?.();
  if (!stream) {
    throw new GatewayError(
      "upstream_invalid",
      `The upstream's response has an unsupported content-encoding: ${coding.slice(0, 20)}.`,
    );
  }
  // Errors are thrown to the reader: an unhandled stream error would end the process.
  pipeline(Readable.from(chunks), stream, () => undefined);
  yield* stream as AsyncIterable<Uint8Array>;
}

/** Decompresses a buffered response. Throws GatewayError, also if it exceeds `max` bytes. */
export async function decompress(
  body: ChunkedBytes,
  coding: string,
  max: number,
): Promise<ChunkedBytes> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of decompressing(chunksOf(body), coding)) {
      length += piece.length;
      if (length > max) throw tooLarge(max);
      if (coding !== "zstd") pieces.push(piece as Buffer);
    }
    // The stream accepts a truncated zstd body; this function detects it, but has no size limit.
    return coding === "zstd"
      ? ChunkedBytes.of(await Bun.zstdDecompress(body.toBuffer()))
      : new ChunkedBytes(pieces);
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError("upstream_invalid", "The upstream's response cannot be decompressed.", {
      cause,
    });
  }
}

async function* chunksOf({ list }: ChunkedBytes): AsyncGenerator<Uint8Array> {
  yield* list;
}
