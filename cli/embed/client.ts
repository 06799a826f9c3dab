/** Sends texts to an OpenAI-compatible server, with retries, and verifies the vectors of the response. */

import { type Embedded, readVectors } from "./read-vectors.ts";
import { ServerError } from "./server-error.ts";

interface ClientOptions {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly model: string;
  readonly dimensions: number | undefined;
  /** How often a request is repeated. */
  readonly retries: number;
  /** Ends requests in flight and the waits between retries. */
  readonly signal: AbortSignal;
  readonly fetch: typeof fetch;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly random: () => number;
}

const maxDelayMs = 60_000;

export class EmbeddingClient {
  readonly #options: ClientOptions;
  #encoding: "base64" | "float" = "base64";

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Throws ServerError. */
  async embed(texts: readonly string[]): Promise<Embedded> {
    const { retries, signal, sleep } = this.#options;
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
        if (!error.isTemporary || attempt >= retries) throw error;
        await sleep(this.#delay(error, attempt), signal);
      }
    }
  }

  /** The server's own wait, or an exponential back-off with jitter. */
  #delay({ retryAfterMs }: ServerError, attempt: number): number {
    const backOff = Math.min(maxDelayMs, 500 * 2 ** attempt) * (0.5 + this.#options.random() / 2);
    return retryAfterMs ?? backOff;
  }

  async #send(texts: readonly string[]): Promise<Embedded> {
    const { baseUrl, apiKey, model, dimensions, signal } = this.#options;
    const response = await this.#fetch(`${baseUrl}/embeddings`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        // Vexel serves interactive requests first; other servers ignore the header.
        "vexel-priority": "batch",
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify({ model, input: texts, dimensions, encoding_format: this.#encoding }),
      // A silent server: Bun ends the request after five minutes.
      signal,
    });
    const body = await response.text().catch((cause: unknown) => {
      throw ServerError.ofConnection(baseUrl, cause);
    });
    if (!response.ok) throw ServerError.ofResponse(response, body);
    return readVectors(body, texts.length);
  }

  async #fetch(url: string, init: RequestInit): Promise<Response> {
    try {
      return await this.#options.fetch(url, init);
    } catch (cause) {
      throw ServerError.ofConnection(url, cause);
    }
  }
}
