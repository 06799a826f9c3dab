/**
 * Keep-alive trust: which upstreams are trusted to send exactly one response per request. HTTP/1.1 does not say which
 * request a response belongs to: after one unsolicited response, each request on the connection could get the response
 * of the one before it. An upstream that sent an unsolicited response gets a new connection for each request, for a
 * while.
 */

export interface Unsolicited {
  /** Host and port of the upstream. */
  readonly address: string;
  /** Responses that were delivered before on the same connection may have belonged to other requests. */
  readonly earlierResponsesSuspect: boolean;
}

export interface KeepAliveTrustOptions {
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
  readonly onUnsolicited?: (event: Unsolicited) => void;
}

const distrustMs = 10 * 60_000;
/** Upstreams come from the configuration, so there are few. */
const maxAddresses = 1000;

export class KeepAliveTrust {
  readonly #options: KeepAliveTrustOptions;
  /** When each address is trusted again. */
  readonly #until = new Map<string, number>();

  constructor(options: KeepAliveTrustOptions) {
    this.#options = options;
  }

  /** Whether a connection to this address may be reused. */
  isTrusted(address: string): boolean {
    if (this.#until.size === 0) return true;
    const until = this.#until.get(address);
    if (until === undefined) return true;
    if (until > this.#options.clock()) return false;
    this.#until.delete(address);
    return true;
  }

  /**
   * An unsolicited response arrived. `responses`: the number of responses on the connection. The response to its first
   * request is certain: the connection was new.
   */
  distrust(address: string, responses: number): void {
    if (this.#until.size >= maxAddresses) this.#until.clear();
    this.#until.set(address, this.#options.clock() + distrustMs);
    this.#options.onUnsolicited?.({ address, earlierResponsesSuspect: responses > 1 });
  }
}
