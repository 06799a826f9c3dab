/** Reads streamed responses: server-sent events with JSON, until the last event. */
import { GatewayError } from "../../../lib/gateway-error.ts";
import type { RequestTemp } from "../../../temp-storage/request-temp.ts";
import type { ExtraFields } from "../../contract.ts";
import { DocumentReader, LongTexts } from "./document.ts";
import { asObject } from "./members.ts";

/** One event has one image. */
const maxEventBytes = 96 * 1024 * 1024;

interface ImageStreamEvent {
  /** The event's name in the stream; empty if it has none. */
  readonly name: string;
  readonly payload: ExtraFields;
}

/** Large images in the events are spilled to disk, as in a buffered response. */
export async function* readImageStream(
  chunks: AsyncIterable<Uint8Array>,
  temp: RequestTemp,
): AsyncGenerator<ImageStreamEvent> {
  const texts = new LongTexts(temp);
  const open = () => new DocumentReader(texts);
  const events = readServerSentEvents(texts.releasing(chunks), open, maxEventBytes);
  for await (const { event: name, data, isUnclosed } of events) {
    const text = data.text.trim();
    if (text === "[DONE]") return;
    // An empty event or a keep-alive.
    if (text === "" || name === "ping") continue;
    const payload = isUnclosed ? completeIn(data) : asObject(data.end(notJson));
    if (!payload && isUnclosed) return;
    if (!payload) throw new GatewayError("upstream_invalid", notJson);
    yield { name, payload };
  }
}

const notJson = "The upstream's stream contains an event that is not JSON.";

/** The data of an event that may be cut off. Undefined if it is not a complete JSON object. */
function completeIn(data: DocumentReader): ExtraFields | undefined {
  try {
    return asObject(data.end(notJson));
  } catch {
    return undefined;
  }
}

/** Receives the data of one event, chunk by chunk. */
interface DataReader {
  take(bytes: Uint8Array): Promise<void>;
  /** The data that follows is on a new line. */
  breakLine(): void;
}

interface ServerSentEvent<D extends DataReader> {
  readonly event: string;
  readonly data: D;
  /** The stream ended before the blank line that closes the event: its data may be cut off. */
  readonly isUnclosed?: true;
}

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const colon = 0x3a;
const space = 0x20;

/** The longest name of a field, and of an event, that is read. */
const longestName = 256;

/**
 * Parses server-sent events (SSE) from a byte stream, per the standard: any line ending, comments skipped. The data of
 * an event is passed on as it arrives, so that the reader decides which part of it is kept in memory. `open`: makes the
 * reader of the next event's data. `maxBytes`: of one event's data.
 */
async function* readServerSentEvents<D extends DataReader>(
  chunks: AsyncIterable<Uint8Array>,
  open: () => D,
  maxBytes: number,
): AsyncGenerator<ServerSentEvent<D>> {
  const reading = new EventReading(open, maxBytes);
  let afterReturn = false;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      if (afterReturn && chunk[at] === lineFeed) at++;
      afterReturn = false;
      const end = endOfLine(chunk, at);
      await reading.take(chunk.subarray(at, end));
      if (end === chunk.length) break;
      afterReturn = chunk[end] === carriageReturn;
      at = end + 1;
      const event = reading.endLine();
      if (event) yield event;
    }
  }
  // The standard drops an event without its closing blank line. Some servers forget that line after the last event,
  // which contains an image that was billed. The reader can see from the data whether the event is complete.
  const last = reading.end();
  if (last) yield last;
}

/** The end of the line, or of the chunk. */
function endOfLine(chunk: Uint8Array, from: number): number {
  const feed = chunk.indexOf(lineFeed, from);
  const rest = chunk.subarray(from, feed < 0 ? chunk.length : feed);
  const back = rest.indexOf(carriageReturn);
  return from + (back < 0 ? rest.length : back);
}

/** Reads one event line by line, and one line chunk by chunk. */
class EventReading<D extends DataReader> {
  readonly #open: () => D;
  readonly #maxBytes: number;
  #event = "";
  #data: D | undefined;
  #bytes = 0;
  /** The name of the line's field, as far as it has arrived. */
  #name = "";
  /** After the colon: which field the line has. */
  #field: "data" | "event" | "other" | undefined;
  /** The first character after the colon has not arrived yet: a space there is ignored. */
  #isFirst = false;
  #isEmpty = true;

  constructor(open: () => D, maxBytes: number) {
    this.#open = open;
    this.#maxBytes = maxBytes;
  }

  async take(chunk: Uint8Array): Promise<void> {
    if (chunk.length === 0) return;
    this.#isEmpty = false;
    if (this.#field !== undefined) return this.#takeValue(chunk);
    const end = chunk.indexOf(colon);
    this.#readName(chunk.subarray(0, end < 0 ? chunk.length : end));
    if (end < 0) return;
    this.#beginValue();
    await this.#takeValue(chunk.subarray(end + 1));
  }

  /** Returns the event if this line ends it. */
  endLine(): ServerSentEvent<D> | undefined {
    const isLast = this.#isEmpty;
    // A line with a name only has an empty value.
    if (!isLast && this.#field === undefined) this.#beginValue();
    this.#name = "";
    this.#field = undefined;
    this.#isEmpty = true;
    if (!isLast) return undefined;
    const data = this.#data;
    const event = this.#event;
    this.#data = undefined;
    this.#event = "";
    this.#bytes = 0;
    return data && { event, data };
  }

  /** Returns the last event, if the stream ended without the blank line that closes the event. */
  end(): ServerSentEvent<D> | undefined {
    // The name may be cut off.
    if (this.#field === "event") return undefined;
    if (!this.#isEmpty) this.endLine();
    const event = this.endLine();
    return event && { ...event, isUnclosed: true };
  }

  #readName(bytes: Uint8Array): void {
    const free = longestName - this.#name.length;
    this.#name += Buffer.from(bytes.subarray(0, Math.max(0, free))).toString("latin1");
  }

  #beginValue(): void {
    // The stream may start with a byte order mark.
    const name = this.#name.replace(/^\xef\xbb\xbf/, "");
    this.#field = name === "data" || name === "event" ? name : "other";
    this.#isFirst = true;
    if (this.#field === "event") this.#event = "";
    if (this.#field !== "data") return;
    if (this.#data) this.#data.breakLine();
    else this.#data = this.#open();
  }

  async #takeValue(chunk: Uint8Array): Promise<void> {
    if (chunk.length === 0 || this.#field === "other") return;
    const value = this.#isFirst && chunk[0] === space ? chunk.subarray(1) : chunk;
    this.#isFirst = false;
    if (value.length === 0) return;
    if (this.#field === "event") {
      const free = longestName - this.#event.length;
      this.#event += Buffer.from(value.subarray(0, Math.max(0, free))).toString("latin1");
      return;
    }
    this.#bytes += value.length;
    if (this.#bytes > this.#maxBytes) {
      throw new GatewayError(
        "upstream_invalid",
        `An event of the upstream's stream is larger than ${this.#maxBytes} bytes.`,
      );
    }
    await this.#data?.take(value);
  }
}
