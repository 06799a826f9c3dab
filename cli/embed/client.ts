/** Sends texts to an OpenAI-compatible server, with retries, and verifies the vectors of the response. */

import type { NumberType } from "./number-types.ts";
import { type Embedded, readVectors } from "./read-vectors.ts";
import { ServerError } from "./server-error.ts";

interface ClientOptions {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly model: string;
  readonly dimensions: number | undefined;
  readonly type: NumberType;
  /** How often a request is repeated. */
  readonly retries: number;
  /** Ends requests in flight and the waits between retries. */
  readonly signal: AbortSignal;
  readonly fetch: typeof fetch;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random: () => number;
  /** A request has failed, and is repeated. */
  readonly onRetry: (retry: Retry) => void;
}

export interface Retry {
  readonly error: ServerError;
  /** From 1 to `of`. */
  readonly number: number;
  readonly of: number;
  readonly afterMs: number;
}

const maxDelayMs = 60_000;

/** Of a request to an address that no request has reached yet: most likely it is wrong, or the server is not started. */
const maxFirstRetries = 2;

export class EmbeddingClient {
  readonly #options: ClientOptions;
  #encoding: "base64" | "float" = "base64";
  #wasReached = false;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** The server has answered a request, if only with an error. */
  get wasReached(): boolean {
    return this.#wasReached;
  }

  /** Throws ServerError. */
  async embed(texts: readonly string[]): Promise<Embedded> {
    const { signal, sleep, onRetry } = this.#options;
    for (let attempt = 0; ; attempt++) {
      signal.throwIfAborted();
      try {
        return await this.#send(texts);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ServerError)) throw error;
        if (this.#encoding === "base64" && error.isAbout("encoding_format")) {
          this.#encoding = "float";
          continue;
        }
        const retries = this.#retriesAfter(error);
        if (!error.isTemporary || attempt >= retries) throw error;
        const afterMs = this.#delay(error, attempt);
        onRetry({ error, number: attempt + 1, of: retries, afterMs });
        await sleep(afterMs, signal);
      }
    }
  }

  #retriesAfter({ isUnreachable }: ServerError): number {
    const { retries } = this.#options;
    return isUnreachable && !this.#wasReached ? Math.min(retries, maxFirstRetries) : retries;
  }

  /** The server's own wait, or an exponential back-off with jitter. */
  #delay({ retryAfterMs }: ServerError, attempt: number): number {
    const backOff = Math.min(maxDelayMs, 500 * 2 ** attempt) * (0.5 + this.#options.random() / 2);
    return retryAfterMs ?? backOff;
  }

  async #send(texts: readonly string[]): Promise<Embedded> {
    const { baseUrl, apiKey, model, dimensions, type, signal } = this.#options;
    // Vectors of other types are always lists of numbers.
    const format =
      type.name === "float" ? { encoding_format: this.#encoding } : { output_dtype: type.name };
    const response = await this.#fetch(`${baseUrl}/embeddings`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        // Vexel serves interactive requests first; other servers ignore the header.
        "vexel-priority": "batch",
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify({ model, input: texts, dimensions, ...format }),
      // A silent server: Bun ends the request after five minutes.
      signal,
    });
    this.#wasReached = true;
    const body = await response.text().catch((cause: unknown) => {
      throw ServerError.ofConnection(baseUrl, cause);
    });
    if (!response.ok) throw ServerError.ofResponse(response, body);
    return readVectors(body, texts.length, type);
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    try {
      return await this.#options.fetch(url, init);
    } catch (cause) {
      throw ServerError.ofConnection(url, cause);
    }
  }
}
