/** An answer that our own client has taken whole. */
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from "node:zlib";
import { codeOf } from "../std/error-code.ts";
import { GatewayError } from "../std/gateway-error.ts";
import { Pieces } from "../std/pieces.ts";
import type { WireReply } from "./adapter.ts";
import { parseJson, withoutMark } from "./bounded-reply.ts";
import type { Answer } from "./http/answer.ts";
import { tooLarge } from "./unreachable.ts";

/** Malformed bytes become U+FFFD, as with `fetch`; the byte order mark is left out. */
const decoder = new TextDecoder();

export class PlainReply implements WireReply {
  readonly status: number;
  readonly #answer: Answer;
  readonly #max: number;

  constructor(answer: Answer, max: number) {
    this.status = answer.status;
    this.#answer = answer;
    this.#max = max;
  }

  get headers(): WireReply["headers"] {
    const { headers } = this.#answer;
    return {
      get: (name) => headers.get(name.toLowerCase()) ?? null,
      has: (name) => headers.has(name.toLowerCase()),
    };
  }

  get seemsSpent(): boolean {
    return this.#answer.seemsSpent;
  }

  async json(): Promise<unknown> {
    return parseJson(await this.text());
  }

  async text(maxBytes = this.#max): Promise<string> {
    return decoder.decode(this.#bytes(maxBytes).whole());
  }

  bytes(): Pieces {
    return withoutMark(this.#bytes(this.#max));
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    yield* this.#bytes(this.#max).list;
  }

  #bytes(max: number): Pieces {
    const { body, coding } = this.#answer;
    if (coding === undefined || coding === "" || coding === "identity") {
      if (body.length > max) throw tooLarge(max);
      return body;
    }
    return Pieces.of(decompressed(body.whole(), coding, max));
  }
}

type Way = (body: Buffer, options: { readonly maxOutputLength: number }) => Buffer;

/** The first is bounded, but takes half an answer for a whole one; the second is the other way round. */
const unzstd: Way = (body, options) => {
  zstdDecompressSync(body, options);
  return Bun.zstdDecompressSync(body);
};

const ways: Readonly<Record<string, Way>> = {
  gzip: gunzipSync,
  "x-gzip": gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: unzstd,
};

/** It was asked not to compress, so this is rare and may take its time. */
function decompressed(body: Buffer, coding: string, max: number): Buffer {
  const way = ways[coding];
  if (!way) {
    throw new GatewayError(
      "upstream_invalid",
      "The upstream's answer is compressed in a way that is not known here.",
    );
  }
  try {
    return way(body, { maxOutputLength: max });
  } catch (cause) {
    if (codeOf(cause) === "ERR_BUFFER_TOO_LARGE") throw tooLarge(max);
    throw new GatewayError("upstream_invalid", "The upstream's answer cannot be decompressed.", {
      cause,
    });
  }
}
