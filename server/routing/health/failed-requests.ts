/**
 * Tells a bad request from a failing target: which requests the target has answered with an error since it last
 * responded to one, and whose requests it has served. A server that cannot process a request may answer with status
 * 500, as if it had failed itself.
 */
import { areLargeExtraFields } from "../../lib/large-json.ts";

/** The client's request that an attempt belongs to. */
export interface RequestSource {
  readonly requestId: string;
  /** The id of the API key. */
  readonly client: string;
  /** What was sent: the request, or a part of it. */
  readonly query: unknown;
}

/** More than those of the requests that open the circuit breaker. */
const maxKnown = 32;
/** A client whose request was served within this time uses the target. */
const usesMs = 24 * 3_600_000;

interface ServedClient {
  readonly client: string;
  at: number;
}

export class FailedRequests {
  /** Since the target last responded: the fingerprints and the ids of requests. */
  readonly #known = new Set<string>();
  /** The only client whose requests failed since then. Undefined if none has failed, or those of several clients. */
  #client: string | undefined;
  /** The last two clients whose requests were served. */
  #latest: ServedClient | undefined;
  #before: ServedClient | undefined;

  /**
   * The target answered the request with an error. False: it has done so before for the same body, or for another part
   * of the same request, so this is no further failure.
   */
  add({ requestId, client, query }: RequestSource): boolean {
    if (this.#known.size === 0) this.#client = client;
    else if (this.#client !== client) this.#client = undefined;
    const fingerprint = fingerprintOf(query);
    const isKnown = this.#known.has(fingerprint) || this.#known.has(requestId);
    if (this.#known.size >= maxKnown) this.#known.clear();
    this.#known.add(fingerprint).add(requestId);
    return !isKnown;
  }

  /** The target responded to a request of this client. */
  end(now: number, client: string): void {
    if (this.#known.size > 0) {
      this.#known.clear();
      this.#client = undefined;
    }
    const latest = this.#latest;
    if (latest?.client === client) {
      latest.at = now;
      return;
    }
    this.#latest = this.#before?.client === client ? this.#before : { client, at: now };
    this.#latest.at = now;
    this.#before = latest;
  }

  /** No other client's request has failed since the target last responded. */
  areOnlyOf(client: string): boolean {
    return this.#client === client;
  }

  /** The target has served a request of another client than this one. */
  hasServedOthers(than: string, now: number): boolean {
    const other = this.#latest?.client === than ? this.#before : this.#latest;
    return other !== undefined && now - other.at < usesMs;
  }
}

const [maxEntries, maxCharacters] = [16, 1000];

/**
 * Long lists and texts are compared by their beginning, and large extra fields not at all: a step on the serving loop
 * stays short. A file that is sent again has another path.
 */
const fingerprintOf = (query: unknown): string =>
  Bun.hash(JSON.stringify(query, shorten)).toString(36);

function shorten(name: string, value: unknown): unknown {
  if (name === "path" || (name === "extraFields" && areLargeExtraFields(value as object))) {
    return undefined;
  }
  if (typeof value === "string" && value.length > maxCharacters) {
    return [value.length, value.slice(0, maxCharacters)];
  }
  if (Array.isArray(value) && value.length > maxEntries) {
    return [value.length, ...value.slice(0, maxEntries)];
  }
  return ArrayBuffer.isView(value) ? value.byteLength : value;
}
