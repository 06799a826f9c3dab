/** Any call and any answer: encrypted, compressed, streamed, or all of it. The only caller of `fetch`. */
import { GatewayError } from "../std/gateway-error.ts";
import { asAbortSignal, type Signal } from "../std/signal.ts";
import type { WireReply, WireRequest } from "./adapter.ts";
import { tooLarge, unreachable } from "./unreachable.ts";

export async function fetchReply(
  { url, headers, body, method }: WireRequest,
  signal: Signal,
  maxAnswerBytes: number,
): Promise<WireReply> {
  const streamed = typeof body === "object" ? body : undefined;
  let response: Response;
  try {
    response = await fetch(url, {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: streamed ? { ...headers, "content-length": String(streamed.length) } : headers,
      body: streamed
        ? (streamed.open() as unknown as ReadableStream)
        : (body as string | undefined),
      signal: asAbortSignal(signal),
      // A redirect would carry the upstream's key to another place.
      redirect: "manual",
      // Bun gives up after five silent minutes; the deadline of the journey decides here.
      timeout: false,
    });
  } catch (error) {
    throw unreachable(error, signal);
  }
  return new FetchReply(response, signal, maxAnswerBytes);
}

class FetchReply implements WireReply {
  readonly status: number;
  readonly headers: Headers;
  readonly #response: Response;
  readonly #signal: Signal;
  readonly #max: number;

  constructor(response: Response, signal: Signal, max: number) {
    this.status = response.status;
    this.headers = response.headers;
    this.#response = response;
    this.#signal = signal;
    this.#max = max;
  }

  async json(): Promise<unknown> {
    return parseJson(await this.text());
  }

  async text(maxBytes = this.#max): Promise<string> {
    return new TextDecoder().decode(await this.#whole(maxBytes));
  }

  async bytes(): Promise<Uint8Array> {
    return withoutMark(await this.#whole(this.#max));
  }

  chunks(): AsyncIterable<Uint8Array> {
    return this.#bounded(this.#max);
  }

  async #whole(maxBytes: number): Promise<Uint8Array> {
    // A length in the header is the length on the wire: only without compression does it bound the body.
    const announced = Number(this.headers.get("content-length") ?? Number.NaN);
    if (announced <= maxBytes && !this.headers.has("content-encoding")) {
      try {
        return await this.#response.bytes();
      } catch (error) {
        throw unreachable(error, this.#signal);
      }
    }
    const pieces: Uint8Array[] = [];
    for await (const chunk of this.#bounded(maxBytes)) pieces.push(chunk);
    return Buffer.concat(pieces);
  }

  async *#bounded(max: number): AsyncGenerator<Uint8Array> {
    let seen = 0;
    try {
      for await (const chunk of this.#response.body ?? []) {
        seen += chunk.length;
        if (seen > max) throw tooLarge(max);
        yield chunk;
      }
    } catch (error) {
      throw error instanceof GatewayError ? error : unreachable(error, this.#signal);
    }
  }
}

/** The byte order mark of UTF-8. */
export const withoutMark = (bytes: Uint8Array): Uint8Array =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new GatewayError("upstream_invalid", "The upstream's answer is not valid JSON.", {
      cause,
    });
  }
}
