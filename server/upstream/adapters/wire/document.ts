/**
 * Streaming JSON reader that moves long strings out: base64 images are decoded as they arrive and spilled to disk when
 * large, and only the remaining JSON is parsed. So a hundred responses of four megabytes take little memory.
 */

import type { BorrowedChunks } from "../../../lib/borrowed-bytes.ts";
import { releaseBuffer } from "../../../lib/byte-memory.ts";
import { GatewayError } from "../../../lib/gateway-error.ts";
import { JsonPlaceholders } from "../../../lib/json-placeholders.ts";
import { JsonFilter } from "../../../lib/json-scan.ts";
import { StreamedString } from "../../../lib/json-stream.ts";
import type {
  FileRange,
  RequestTemp,
  SpillBuffer,
  SpilledBytes,
} from "../../../temp-storage/request-temp.ts";
import type { UpstreamResponse } from "../../adapter.ts";
import { invalidResponse } from "../../invalid-response.ts";
import { documentBounds } from "../../upstream-json.ts";
import { endOfText, withoutEscapes, withoutLongSpaces } from "./json-text.ts";

/** Texts up to this many bytes stay in the JSON: enough for the longest prompt, in characters of three bytes. */
const maxShortBytes = 96 * 1024;
const startBytes = 128;

/** The maximum size of the JSON without its long texts. It is parsed at once, in some milliseconds. */
const maxJsonBytes = 4 * 1024 * 1024;

const quote = 0x22;
const lineFeed = 0x0a;
const noBytes = new Uint8Array(0);

/** A long text of a response, unescaped. */
export class LongText implements SpilledBytes {
  readonly encoding = "base64" as const;
  readonly #buffer: SpillBuffer;
  readonly #from: number;
  readonly length: number;
  readonly start: Uint8Array;

  constructor(buffer: SpillBuffer, from: number, length: number, start: Uint8Array) {
    this.#buffer = buffer;
    this.#from = from;
    this.length = length;
    this.start = start;
  }

  /** The text without its first bytes, such as the `data:image/png;base64,` of a data URL. */
  after(bytes: number): LongText {
    return new LongText(
      this.#buffer,
      this.#from + bytes,
      this.length - bytes,
      this.start.subarray(bytes),
    );
  }

  get range(): FileRange | undefined {
    const { path } = this.#buffer;
    return path === undefined ? undefined : { path, from: this.#from, length: this.length };
  }

  keepOpen(): (() => void) | undefined {
    return this.#buffer.keepOpen();
  }

  stream(): BorrowedChunks {
    return this.#buffer.stream(this.#from, this.#from + this.length);
  }

  bytes(): Promise<Uint8Array> {
    return this.#buffer.read(this.#from, this.length);
  }

  /** A long text that is not an image is passed on unchanged in the client's response. */
  toJSON(): StreamedString {
    return new StreamedString(this.length, () => this.stream());
  }

  tail(bytes: number): Promise<Uint8Array> {
    const length = Math.min(bytes, this.length);
    return this.#buffer.read(this.#from + this.length - length, length);
  }
}

/** A response's JSON. Each long text is replaced by a `LongText`. */
export async function readDocument(
  response: UpstreamResponse,
  temp: RequestTemp,
): Promise<unknown> {
  const texts = new LongTexts(temp);
  const reader = new DocumentReader(texts);
  for await (const chunk of texts.releasing(response.chunks())) await reader.take(chunk);
  return reader.end("The upstream's response is not valid JSON.");
}

/** Storage of the long texts of one response, over all its documents. */
export class LongTexts {
  readonly #temp: RequestTemp;
  #store: SpillBuffer | undefined;

  constructor(temp: RequestTemp) {
    this.#temp = temp;
  }

  get store(): SpillBuffer {
    this.#store ??= this.#temp.buffer();
    return this.#store;
  }

  /**
   * Passes the chunks through. Once the texts are on disk, the memory of a chunk is released before the garbage
   * collector runs: left to it, a hundred responses of 4 MB take 200 MB instead of 60.
   */
  async *releasing(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      const wasOnDisk = this.#store?.isOnDisk === true;
      yield chunk;
      if (wasOnDisk && isLastOf(chunk)) releaseBuffer(chunk);
    }
  }
}

/** Whether it is the last chunk of its buffer: the bytes before it, such as the response head, were read already. */
const isLastOf = ({ byteOffset, length, buffer }: Uint8Array): boolean =>
  byteOffset + length === buffer.byteLength;

export class DocumentReader {
  readonly #storage: LongTexts;
  /** Cuts a member that is nested too deeply or has too many values, so that the image next to it is still read. */
  readonly #filter = new JsonFilter(documentBounds);
  readonly #jsonParts: Uint8Array[] = [];
  readonly #texts = new JsonPlaceholders();
  #inText = false;
  #isBroken = false;
  /** Bytes of the JSON parts, which are parsed at once. */
  #jsonBytes = 0;
  /** An incomplete escape sequence at the end of the last chunk. */
  #escape: Uint8Array = noBytes;
  /** The text so far, while it is short. */
  #shortParts: Uint8Array[] = [];
  #shortBytes = 0;
  /** Where the text began, once it is long. */
  #longText: { readonly from: number; readonly start: Uint8Array } | undefined;

  constructor(storage: LongTexts) {
    this.#storage = storage;
  }

  /** The JSON without its long texts. */
  get text(): string {
    return new TextDecoder().decode(Buffer.concat(this.#jsonParts));
  }

  async take(received: Uint8Array): Promise<void> {
    const chunk = this.#filter.push(received);
    if (this.#filter.isTooLarge)
      throw invalidResponse(`it has more than ${documentBounds.values} values`);
    // Most chunks of an image: a further search in them would take as much time as the filter.
    const isPlain = this.#filter.isWithinString && chunk === received && this.#escape.length === 0;
    if (isPlain && this.#longText) await this.#append(chunk);
    else await this.#read(this.#escape.length === 0 ? chunk : Buffer.concat([this.#escape, chunk]));
  }

  async #read(chunk: Uint8Array): Promise<void> {
    this.#escape = noBytes;
    let at = 0;
    while (at < chunk.length) {
      if (this.#inText) {
        at = await this.#readText(chunk, at);
        continue;
      }
      const quoteAt = chunk.indexOf(quote, at);
      const end = quoteAt < 0 ? chunk.length : quoteAt + 1;
      this.#addJson(withoutLongSpaces(chunk.subarray(at, end)));
      this.#inText = quoteAt >= 0;
      at = end;
    }
  }

  /** `bytes`: not copied. */
  #addJson(bytes: Uint8Array): void {
    this.#jsonBytes += bytes.length;
    if (this.#jsonBytes > maxJsonBytes)
      throw invalidResponse(`it has more than ${maxJsonBytes} bytes besides its long texts`);
    this.#jsonParts.push(bytes);
  }

  /** Adds a line break, for a document that arrives in lines. It is valid only between two values. */
  breakLine(): void {
    if (this.#inText) this.#isBroken = true;
    else this.#addJson(Uint8Array.of(lineFeed));
  }

  /** `message`: the error message if the document is not valid JSON. */
  end(message: string): unknown {
    let value: unknown;
    try {
      if (this.#inText || this.#isBroken) throw new SyntaxError("a text without an end");
      value = JSON.parse(this.text);
    } catch (cause) {
      throw new GatewayError("upstream_invalid", message, { cause });
    }
    return this.#texts.restore(value);
  }

  /** Reads to the end of the text, or to the end of the chunk. */
  async #readText(chunk: Uint8Array, at: number): Promise<number> {
    const { end, isWhole } = endOfText(chunk, at);
    const text = chunk.subarray(at, end);
    if (isWhole) {
      await this.#addText(text);
      this.#endText();
      return end + 1;
    }
    this.#escape = new Uint8Array(chunk.subarray(end));
    await this.#addText(text);
    return chunk.length;
  }

  /** Short texts keep their escapes for the parser; the spilled bytes are plain base64. */
  async #addText(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    if (this.#longText) return this.#append(withoutEscapes(bytes));
    this.#shortBytes += bytes.length;
    if (this.#shortBytes <= maxShortBytes) {
      this.#shortParts.push(new Uint8Array(bytes));
      return;
    }
    // Each part ends after a whole escape sequence. The parts are not joined: the last one may be most of a response.
    const parts = [...this.#shortParts, bytes].map(withoutEscapes);
    const start = Buffer.concat(parts.map((part) => part.subarray(0, startBytes)));
    this.#longText = { from: this.#storage.store.size, start: start.subarray(0, startBytes) };
    this.#shortParts = [];
    this.#shortBytes = 0;
    for (const part of parts) await this.#append(part);
  }

  async #append(bytes: Uint8Array): Promise<void> {
    try {
      await this.#storage.store.append(bytes);
    } catch (cause) {
      throw unwritable(cause);
    }
  }

  #endText(): void {
    this.#inText = false;
    if (this.#longText) {
      const { from, start } = this.#longText;
      const { store } = this.#storage;
      const text = new LongText(store, from, store.size - from, start);
      this.#addJson(Buffer.from(`${this.#texts.add(text)}"`));
      this.#longText = undefined;
      return;
    }
    for (const part of this.#shortParts) this.#addJson(part);
    this.#addJson(Uint8Array.of(quote));
    this.#shortParts = [];
    this.#shortBytes = 0;
  }
}

const unwritable = (cause: unknown): GatewayError =>
  new GatewayError("storage_unavailable", "The upstream's response could not be written to disk.", {
    cause,
    retryAfterMs: 5000,
  });
