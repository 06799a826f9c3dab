/** Responses of upstreams, with a bound on their size: buffered by the HTTP client, or in chunks as they arrive. */
import { ChunkedBytes } from "../../lib/chunked-bytes.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import { largeJsonBytes, parseLargeJson, parseUpstreamJson } from "../../lib/upstream-json.ts";
import type { UpstreamResponse } from "../adapter.ts";
import { decompress, decompressing, isCompressed } from "../decompress.ts";
import type { ResponseParser } from "./parse-response.ts";
import type { StreamedResponse } from "./streamed-exchange.ts";
import { tooLarge, toTransportError } from "./transport-error.ts";

export interface BoundedOptions {
  readonly status: number;
  readonly headers: UpstreamResponse["headers"];
  /** The decompressed body, in chunks as they arrive. */
  readonly chunks: () => AsyncIterable<Uint8Array>;
  /** Reads the whole body at once, if its length is known to be within the bound. */
  readonly readWhole?: (maxBytes: number) => Promise<Uint8Array> | undefined;
  readonly signal: AbortSignal;
  readonly maxBytes: number;
}

const maxRereadBytes = 64 * 1024;

/** A response whose body arrives in chunks. */
export class BoundedResponse implements UpstreamResponse {
  readonly #options: BoundedOptions;
  /** The body, once it was read, if it is short: a body without a result may be an error, which is then read again. */
  #body: Uint8Array | undefined;
  #isStarted = false;

  constructor(options: BoundedOptions) {
    this.#options = options;
  }

  get status(): number {
    return this.#options.status;
  }

  get headers(): UpstreamResponse["headers"] {
    return this.#options.headers;
  }

  async json(): Promise<unknown> {
    return parseJsonBytes(await this.bytes());
  }

  async text(maxBytes = this.#options.maxBytes): Promise<string> {
    return new TextDecoder().decode(await this.#whole(maxBytes));
  }

  async bytes(): Promise<ChunkedBytes> {
    return withoutByteOrderMark(ChunkedBytes.of(await this.#whole(this.#options.maxBytes)));
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    const copies: Uint8Array[] = [];
    let length = 0;
    for await (const chunk of this.#bounded(this.#options.maxBytes)) {
      length += chunk.length;
      // A copy, because the reader may release the memory of the chunk.
      if (length <= maxRereadBytes) copies.push(new Uint8Array(chunk));
      else copies.length = 0;
      yield chunk;
    }
    if (length <= maxRereadBytes) this.#body = Buffer.concat(copies);
  }

  async #whole(maxBytes: number): Promise<Uint8Array> {
    const whole = this.#body ?? (await this.#read(maxBytes));
    if (whole.length > maxBytes) throw tooLarge(maxBytes);
    if (whole.length <= maxRereadBytes) this.#body = whole;
    return whole;
  }

  async #read(maxBytes: number): Promise<Uint8Array> {
    if (this.#isStarted) {
      throw new GatewayError("upstream_invalid", "The upstream's response was read already.");
    }
    try {
      const whole = this.#options.readWhole?.(maxBytes);
      if (whole) return await whole;
    } catch (error) {
      throw toTransportError(error, this.#options.signal);
    }
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.#bounded(maxBytes)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }

  async *#bounded(max: number): AsyncGenerator<Uint8Array> {
    const { chunks, signal } = this.#options;
    this.#isStarted = true;
    let length = 0;
    try {
      for await (const chunk of chunks()) {
        length += chunk.length;
        if (length > max) throw tooLarge(max);
        yield chunk;
      }
    } catch (error) {
      throw error instanceof GatewayError ? error : toTransportError(error, signal, max);
    }
  }
}

/** The byte order mark of UTF-8. */
export const withoutByteOrderMark = (bytes: ChunkedBytes): ChunkedBytes =>
  bytes.byteAt(0) === 0xef && bytes.byteAt(1) === 0xbb && bytes.byteAt(2) === 0xbf
    ? ChunkedBytes.of(bytes.toBuffer().subarray(3))
    : bytes;

/** Rejects JSON that is nested too deeply. */
export async function parseJson(text: string): Promise<unknown> {
  try {
    return await parseUpstreamJson(text);
  } catch (cause) {
    throw cause instanceof GatewayError ? cause : invalidJson(cause);
  }
}

/** Malformed bytes become U+FFFD, as with `fetch`. */
async function parseJsonBytes(bytes: ChunkedBytes): Promise<unknown> {
  if (bytes.length <= largeJsonBytes) return parseJson(decoder.decode(bytes.toBuffer()));
  try {
    return await parseLargeJson(bytes);
  } catch (cause) {
    throw cause instanceof SyntaxError ? invalidJson(cause) : cause;
  }
}

const invalidJson = (cause: unknown): GatewayError =>
  new GatewayError("upstream_invalid", "The upstream's response is not valid JSON.", { cause });

export const toUpstreamResponse = (
  response: StreamedResponse,
  signal: AbortSignal,
  maxBytes: number,
): UpstreamResponse =>
  new BoundedResponse({
    status: response.status,
    headers: {
      get: (name) => response.headers.get(name.toLowerCase()) ?? null,
      has: (name) => response.headers.has(name.toLowerCase()),
    },
    chunks: () => decompressed(response),
    signal,
    maxBytes,
  });

/** Some upstreams compress every response, even unrequested. */
function decompressed(response: StreamedResponse): AsyncIterable<Uint8Array> {
  const coding = response.headers.get("content-encoding")?.toLowerCase();
  return isCompressed(coding) ? decompressing(response.chunks(), coding) : response.chunks();
}

/** Malformed bytes become U+FFFD, as with `fetch`; the byte order mark is left out. */
const decoder = new TextDecoder();

export class BufferedResponse implements UpstreamResponse {
  readonly status: number;
  readonly #response: ResponseParser;
  readonly #max: number;

  constructor(response: ResponseParser, max: number) {
    this.status = response.status;
    this.#response = response;
    this.#max = max;
  }

  get headers(): UpstreamResponse["headers"] {
    const { headers } = this.#response;
    return {
      get: (name) => headers.get(name.toLowerCase()) ?? null,
      has: (name) => headers.has(name.toLowerCase()),
    };
  }

  get mayReportExhaustedLimit(): boolean {
    return this.#response.mayReportExhaustedLimit;
  }

  async json(): Promise<unknown> {
    return parseJsonBytes(await this.bytes());
  }

  async text(maxBytes = this.#max): Promise<string> {
    return decoder.decode((await this.#bytes(maxBytes)).toBuffer());
  }

  async bytes(): Promise<ChunkedBytes> {
    return withoutByteOrderMark(await this.#bytes(this.#max));
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    yield* (await this.#bytes(this.#max)).list;
  }

  async #bytes(max: number): Promise<ChunkedBytes> {
    const { body, coding } = this.#response;
    if (isCompressed(coding)) return decompress(body, coding, max);
    if (body.length > max) throw tooLarge(max);
    return body;
  }
}
