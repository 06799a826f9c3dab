/** Step 12: out and back. The only caller of `fetch`. */
import { GatewayError } from "../std/gateway-error.ts";
import type { WireReply, WireRequest } from "./adapter.ts";

export type Send = (request: WireRequest, signal: AbortSignal) => Promise<WireReply>;

export interface SendOptions {
  /** The largest answer that is taken, after decompression. */
  readonly maxAnswerBytes: number;
}

export const createSend =
  ({ maxAnswerBytes }: SendOptions): Send =>
  async ({ url, headers, body }, signal) => {
    const streamed = typeof body === "object" ? body : undefined;
    let response: Response;
    try {
      response = await fetch(url, {
        method: body === undefined ? "GET" : "POST",
        headers: streamed ? { ...headers, "content-length": String(streamed.length) } : headers,
        body: streamed
          ? (streamed.open() as unknown as ReadableStream)
          : (body as string | undefined),
        signal,
        // A redirect would carry the upstream's key to another place.
        redirect: "manual",
        // Bun gives up after five silent minutes; the deadline of the journey decides here.
        timeout: false,
      });
    } catch (error) {
      throw unreachable(error, signal);
    }
    return new FetchReply(response, signal, maxAnswerBytes);
  };

class FetchReply implements WireReply {
  readonly status: number;
  readonly headers: Headers;
  readonly #response: Response;
  readonly #signal: AbortSignal;
  readonly #max: number;

  constructor(response: Response, signal: AbortSignal, max: number) {
    this.status = response.status;
    this.headers = response.headers;
    this.#response = response;
    this.#signal = signal;
    this.#max = max;
  }

  async json(): Promise<unknown> {
    const text = await this.text();
    try {
      return JSON.parse(text);
    } catch (cause) {
      throw new GatewayError("upstream_invalid", "The upstream's answer is not valid JSON.", {
        cause,
      });
    }
  }

  async text(maxBytes = this.#max): Promise<string> {
    // A length in the header is the length on the wire: only without compression does it bound the body.
    const announced = Number(this.headers.get("content-length") ?? Number.NaN);
    if (announced <= maxBytes && !this.headers.has("content-encoding")) {
      try {
        return await this.#response.text();
      } catch (error) {
        throw unreachable(error, this.#signal);
      }
    }
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of this.#bounded(maxBytes)) {
      text += decoder.decode(chunk, { stream: true });
    }
    return text + decoder.decode();
  }

  chunks(): AsyncIterable<Uint8Array> {
    return this.#bounded(this.#max);
  }

  async *#bounded(max: number): AsyncGenerator<Uint8Array> {
    let seen = 0;
    try {
      for await (const chunk of this.#response.body ?? []) {
        seen += chunk.length;
        if (seen > max) {
          throw new GatewayError(
            "upstream_invalid",
            `The upstream's answer is larger than ${max} bytes.`,
          );
        }
        yield chunk;
      }
    } catch (error) {
      throw error instanceof GatewayError ? error : unreachable(error, this.#signal);
    }
  }
}

/** Codes of a connection that was never made, or not trusted: nothing was sent, nothing can be charged. */
const neverMade = new Set([
  ...["ConnectionRefused", "FailedToOpenSocket", "DNSResolveFailed", "ERR_INVALID_URL"],
  ...["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"],
  ...["DEPTH_ZERO_SELF_SIGNED_CERT", "SELF_SIGNED_CERT_IN_CHAIN", "CERT_HAS_EXPIRED"],
  ...["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY"],
  "ERR_TLS_CERT_ALTNAME_INVALID",
]);

/** Bun's codes for a body that is not compressed in the way its headers say. */
const undecodable = new Set(["ZlibError", "BrotliDecompressionError", "ZstdDecompressionError"]);

const codeOf = (error: unknown): string =>
  typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";

function unreachable(error: unknown, signal: AbortSignal): GatewayError {
  // Whoever aborted gave the reason as a fault: the deadline, or the caller hanging up.
  if (signal.aborted && signal.reason instanceof GatewayError) return signal.reason;
  const code = codeOf(error);
  if (undecodable.has(code)) {
    return new GatewayError("upstream_invalid", "The upstream's answer cannot be decompressed.", {
      cause: error,
    });
  }
  return new GatewayError(
    "upstream_unreachable",
    neverMade.has(code)
      ? "The upstream cannot be reached."
      : "The connection to the upstream broke before its answer was complete.",
    { cause: error, logged: code || "broken off", ...(neverMade.has(code) && { unsent: true }) },
  );
}
