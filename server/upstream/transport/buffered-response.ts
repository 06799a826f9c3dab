/** A response that the gateway's own HTTP client has buffered completely. */
import { ChunkedBytes } from "../../lib/chunked-bytes.ts";
import type { UpstreamResponse } from "../adapter.ts";
import { decompress, isCompressed } from "../decompress.ts";
import { parseJson, withoutByteOrderMark } from "./bounded-response.ts";
import type { ResponseParser } from "./parse-response.ts";
import { tooLarge } from "./transport-error.ts";

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
    return parseJson(await this.text());
  }

  async text(maxBytes = this.#max): Promise<string> {
    return decoder.decode((await this.#bytes(maxBytes)).toBuffer());
  }

  /** Synchronous, unless the body is compressed. */
  bytes(): ChunkedBytes | Promise<ChunkedBytes> {
    const bytes = this.#bytes(this.#max);
    return bytes instanceof ChunkedBytes
      ? withoutByteOrderMark(bytes)
      : bytes.then(withoutByteOrderMark);
  }

  async *chunks(): AsyncGenerator<Uint8Array> {
    yield* (await this.#bytes(this.#max)).list;
  }

  #bytes(max: number): ChunkedBytes | Promise<ChunkedBytes> {
    const { body, coding } = this.#response;
    if (isCompressed(coding)) return decompress(body, coding, max);
    if (body.length > max) throw tooLarge(max);
    return body;
  }
}
