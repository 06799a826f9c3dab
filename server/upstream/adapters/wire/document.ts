/**
 * Streaming JSON reader that moves long strings out: base64 images are decoded as they arrive and spilled to disk when
 * large, and only the remaining JSON is parsed. So a hundred responses of four megabytes take little memory.
 */
import { GatewayError } from "../../../lib/gateway-error.ts";
import { JsonFilter } from "../../../lib/json-scan.ts";
import { StreamedString } from "../../../lib/json-stream.ts";
import type { FileRange, RequestTemp, SpilledBytes } from "../../../lib/request-temp.ts";
import { freeBuffer, type SpillBuffer } from "../../../lib/spill-buffer.ts";
import { documentBounds } from "../../../lib/upstream-json.ts";
import type { UpstreamResponse } from "../../adapter.ts";
import { invalidResponse } from "./members.ts";

/** Texts up to this many bytes stay where they are: as long as the longest prompt, in letters of three bytes. */
const maxShortBytes = 96 * 1024;
const startBytes = 128;

const quote = 0x22;
const backslash = 0x5c;
const lineFeed = 0x0a;
/** Placeholder of a long text while the surrounding JSON is parsed. Private to this file. */
const placeholder = `${crypto.randomUUID()} `;

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

  /** Without its first bytes, such as the `data:image/png;base64,` of a data URL. */
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

  stream(): AsyncIterable<Uint8Array> {
    return this.#buffer.stream(this.#from, this.#from + this.length);
  }

  chunksInMemory(): readonly Uint8Array[] | undefined {
    return this.#buffer.chunksInMemory(this.#from, this.#from + this.length);
  }

  bytes(): Promise<Uint8Array> {
    return this.#buffer.read(this.#from, this.length);
  }

  /** In the client's response, if it is not an image: passed on unchanged. */
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
   * Passes the chunks through. Bytes that are spilled to disk are released from memory without waiting for the garbage
   * collector.
   */
  async *releasing(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      const wasOnDisk = this.#store?.isOnDisk === true;
      yield chunk;
      // Otherwise a part of it may be in memory and still in use.
      const isFree = wasOnDisk || (this.#store?.isOnDisk && !this.#store.wasRead);
      if (isFree && isLastOf(chunk)) freeBuffer(chunk.buffer);
    }
  }
}

/** The last chunk of its buffer: before it are bytes that were read already, such as the response head. */
const isLastOf = ({ byteOffset, length, buffer }: Uint8Array): boolean =>
  byteOffset + length === buffer.byteLength;

export class DocumentReader {
  readonly #storage: LongTexts;
  /** Cuts a member that is nested too deeply or has too many values, so that the image next to it is still read. */
  readonly #filter = new JsonFilter(documentBounds);
  readonly #jsonParts: Uint8Array[] = [];
  readonly #texts: LongText[] = [];
  #inText = false;
  #isBroken = false;
  /** The bytes of an incomplete escape, which may be split between two chunks. */
  #escape: number[] = [];
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
    let at = 0;
    while (at < chunk.length) {
      if (!this.#inText) {
        const end = chunk.indexOf(quote, at);
        this.#jsonParts.push(new Uint8Array(chunk.subarray(at, end < 0 ? chunk.length : end + 1)));
        if (end < 0) return;
        at = end + 1;
        this.#inText = true;
      } else if (this.#escape.length > 0) {
        at = await this.#unescape(chunk, at);
      } else {
        at = await this.#readText(chunk, at);
      }
    }
  }

  /** Adds a line break, for a document that arrives in lines. It is valid only between two values. */
  breakLine(): void {
    if (this.#inText) this.#isBroken = true;
    else this.#jsonParts.push(Uint8Array.of(lineFeed));
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
    return this.#texts.length === 0 ? value : this.#restore(value);
  }

  /** Reads to the end of the text, to an escape in it, or to the end of the chunk. */
  async #readText(chunk: Uint8Array, at: number): Promise<number> {
    const end = chunk.indexOf(quote, at);
    const until = end < 0 ? chunk.length : end;
    const slash = chunk.subarray(at, until).indexOf(backslash);
    if (slash >= 0 && this.#longText) {
      await this.#addUnescaped(chunk.subarray(at, until), end < 0);
      if (end >= 0) this.#endText();
      return end < 0 ? chunk.length : end + 1;
    }
    if (slash >= 0) {
      await this.#addText(chunk.subarray(at, at + slash));
      this.#escape = [backslash];
      return at + slash + 1;
    }
    await this.#addText(chunk.subarray(at, until));
    if (end >= 0) this.#endText();
    return end < 0 ? chunk.length : end + 1;
  }

  /** Unescapes a chunk at once: some serializers escape every slash. `open`: the last escape may be incomplete. */
  async #addUnescaped(bytes: Uint8Array, open: boolean): Promise<void> {
    const text = Buffer.from(bytes).toString("latin1");
    const [tail = ""] = open ? (/\\(?:u[0-9a-f]{0,3})?$/i.exec(text) ?? []) : [];
    this.#escape = [...Buffer.from(tail)];
    await this.#addText(unescaped(text.slice(0, text.length - tail.length)));
  }

  /** Short texts keep their escapes for the parser; the spilled bytes are plain base64. */
  async #unescape(chunk: Uint8Array, at: number): Promise<number> {
    this.#escape.push(chunk[at] as number);
    const escaped = Buffer.from(this.#escape);
    // `\u003d` is six characters; all others are two.
    if (escaped[1] === 0x75 && escaped.length < 6) return at + 1;
    this.#escape = [];
    await this.#addText(this.#longText ? withoutEscapes(escaped) : escaped);
    return at + 1;
  }

  async #addText(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    if (this.#longText) return this.#append([bytes]);
    this.#shortBytes += bytes.length;
    if (this.#shortBytes <= maxShortBytes) {
      this.#shortParts.push(new Uint8Array(bytes));
      return;
    }
    const parts = [...this.#shortParts, bytes].map(withoutEscapes);
    const start = Buffer.concat(parts.map((part) => part.subarray(0, startBytes)));
    this.#longText = { from: this.#storage.store.size, start: start.subarray(0, startBytes) };
    this.#shortParts = [];
    this.#shortBytes = 0;
    return this.#append(parts);
  }

  async #append(parts: readonly Uint8Array[]): Promise<void> {
    try {
      for (const part of parts) await this.#storage.store.append(part);
    } catch (cause) {
      throw unwritable(cause);
    }
  }

  #endText(): void {
    this.#inText = false;
    if (this.#longText) {
      const { from, start } = this.#longText;
      const { store } = this.#storage;
      this.#jsonParts.push(Buffer.from(`${placeholder}${this.#texts.length}"`));
      this.#texts.push(new LongText(store, from, store.size - from, start));
      this.#longText = undefined;
      return;
    }
    this.#jsonParts.push(...this.#shortParts, Uint8Array.of(quote));
    this.#shortParts = [];
    this.#shortBytes = 0;
  }

  /** Puts the texts back in place of their placeholders. */
  #restore(value: unknown): unknown {
    if (typeof value === "string" && value.startsWith(placeholder)) {
      return this.#texts[Number(value.slice(placeholder.length))] ?? value;
    }
    if (Array.isArray(value)) return value.map((entry) => this.#restore(entry));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, entry]) => [name, this.#restore(entry)]),
    );
  }
}

/** `bytes` is a text without escapes, or a single escape. */
function withoutEscapes(bytes: Uint8Array): Uint8Array {
  if (bytes.length > 6 || bytes[0] !== backslash) return bytes;
  return unescaped(Buffer.from(bytes).toString("latin1"));
}

function unescaped(escaped: string): Uint8Array {
  const text = escaped.replace(
    /\\(?:u00([0-7][0-9a-f])|([/nr]))/gi,
    (_, code?: string, plain = "") =>
      // Some serializers escape characters that are special in HTML, such as `=`; line breaks within base64 are
      // ignored.
      code === undefined
        ? plain.replace(/[nr]/i, "")
        : String.fromCharCode(Number.parseInt(code, 16)),
  );
  if (text.includes("\\")) throw invalidResponse("a long text in it is not base64");
  return Buffer.from(text, "latin1");
}

const unwritable = (cause: unknown): GatewayError =>
  new GatewayError("storage_unavailable", "The upstream's response could not be written to disk.", {
    cause,
    retryAfterMs: 5000,
  });
