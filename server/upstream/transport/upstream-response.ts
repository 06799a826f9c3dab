/**
 * Responses of upstreams, with a response size limit: buffered by the HTTP client, or in chunks as they arrive.
 * Responses in gzip are decompressed, although requests exclude compression: some servers compress every response.
 * Chunk by chunk in the runtime's threads, so other requests do not wait, and never beyond the size limit, which stops
 * decompression bombs.
 */
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { releaseBuffer } from "../../lib/byte-memory.ts";
import { GatewayError } from "../../lib/gateway-error.ts";
import type { UpstreamResponse } from "../adapter.ts";
import { invalidJson } from "../invalid-response.ts";
import { parseVectorsJson } from "../parse-vectors-json.ts";
import { parseUpstreamJson } from "../upstream-json.ts";
import type { StreamedResponse } from "./exchange.ts";
import type { Head, ResponseParser } from "./parse-response.ts";
import { responseTooLargeError, toTransportError } from "./transport-error.ts";

interface BoundedOptions {
  readonly status: number;
  readonly headers: UpstreamResponse["headers"];
  /** Absent if not known. */
  readonly mayReportExhaustedLimit?: boolean;
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

  get mayReportExhaustedLimit(): boolean {
    return this.#options.mayReportExhaustedLimit ?? true;
  }

  async json(): Promise<unknown> {
    return parseJson(decoder.decode(await this.bytes()));
  }

  async jsonWithVectors(): Promise<unknown> {
    return (await parseVectorsJson(await this.bytes())).value;
  }

  async text(maxBytes = this.#options.maxBytes): Promise<string> {
    return new TextDecoder().decode(await this.#whole(maxBytes));
  }

  async bytes(): Promise<Buffer> {
    const { buffer, byteOffset, length } = await this.#whole(this.#options.maxBytes);
    return withoutByteOrderMark(Buffer.from(buffer, byteOffset, length));
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
    if (whole.length > maxBytes) throw responseTooLargeError(maxBytes);
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
        if (length > max) throw responseTooLargeError(max);
        yield chunk;
      }
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      throw toTransportError(error, signal, { maxBytes: max });
    }
  }
}

/** The byte order mark of UTF-8. */
export const withoutByteOrderMark = (bytes: Buffer): Buffer =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;

/** Rejects JSON that is nested too deeply. */
export async function parseJson(text: string): Promise<unknown> {
  try {
    return await parseUpstreamJson(text);
  } catch (cause) {
    throw cause instanceof GatewayError ? cause : invalidJson(cause);
  }
}

const headersOf = (head: Head): UpstreamResponse["headers"] => ({
  get: (name) => head.get(name.toLowerCase()) ?? null,
  has: (name) => head.has(name.toLowerCase()),
});

export const toUpstreamResponse = (
  response: StreamedResponse,
  signal: AbortSignal,
  maxBytes: number,
): UpstreamResponse =>
  new BoundedResponse({
    status: response.status,
    mayReportExhaustedLimit: response.mayReportExhaustedLimit,
    headers: headersOf(response.headers),
    chunks: () => decompressed(response),
    signal,
    maxBytes,
  });

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
    return headersOf(this.#response.headers);
  }

  get mayReportExhaustedLimit(): boolean {
    return this.#response.mayReportExhaustedLimit;
  }

  async json(): Promise<unknown> {
    return parseJson(decoder.decode(await this.bytes()));
  }

  async jsonWithVectors(): Promise<unknown> {
    const bytes = await this.bytes();
    const { value } = await parseVectorsJson(bytes);
    // Nothing refers to the bytes. A shorter body may be an error, which is then read again.
    if (bytes.length > maxRereadBytes) releaseBuffer(bytes);
    return value;
  }

  async text(maxBytes = this.#max): Promise<string> {
    return decoder.decode(await this.#bytes(maxBytes));
  }

  async bytes(): Promise<Buffer> {
    return withoutByteOrderMark(await this.#bytes(this.#max));
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    yield await this.#bytes(this.#max);
  }

  async #bytes(max: number): Promise<Buffer> {
    const { body, coding } = this.#response;
    if (isCompressed(coding)) return decompress(body, coding, max);
    if (body.length > max) throw responseTooLargeError(max);
    return body;
  }
}

/** Size of a decompressed chunk: each is one task of a thread. */
const chunkSize = 256 * 1024;

/** `coding`: the response's content-encoding, in lower case. */
const isCompressed = (coding: string | undefined): coding is string =>
  coding !== undefined && !uncompressed.has(coding);

/** `identity`, and what misconfigured servers write instead of it: nothing, or the charset. */
const uncompressed: ReadonlySet<string> = new Set(["", "identity", "none", "utf-8", "utf8"]);

/** Decompresses as chunks arrive. The reader bounds the bytes. */
async function* decompressing(
  chunks: AsyncIterable<Uint8Array>,
  coding: string,
): AsyncGenerator<Uint8Array> {
  if (coding !== "gzip") {
    throw new GatewayError(
      "upstream_invalid",
      `The upstream's response has an unsupported content-encoding: ${coding.slice(0, 20)}.`,
    );
  }
  const stream = createGunzip({ chunkSize });
  // Errors are thrown to the reader: an unhandled stream error would end the process.
  pipeline(Readable.from(chunks), stream, () => undefined);
  yield* stream as AsyncIterable<Uint8Array>;
}

/** Decompresses a buffered response. Throws GatewayError, also if it exceeds `max` bytes. */
async function decompress(body: Buffer, coding: string, max: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of decompressing(chunksOf(body), coding)) {
      length += chunk.length;
      if (length > max) throw responseTooLargeError(max);
      chunks.push(chunk as Buffer);
    }
    return Buffer.concat(chunks);
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause;
    throw new GatewayError("upstream_invalid", "The upstream's response cannot be decompressed.", {
      cause,
    });
  }
}

async function* chunksOf(body: Buffer): AsyncGenerator<Uint8Array> {
  yield body;
}
