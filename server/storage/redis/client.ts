/**
 * The connection to Redis or Valkey (`REDIS_URL`). It connects and reconnects by itself, and reports whether Redis is
 * available. The commands of one turn of the event loop share one write. Every command has a timeout: a server that does
 * not respond is unavailable after a second. While Redis is unavailable, commands are rejected at once and never queued.
 */
import { createHash } from "node:crypto";
import { RedisClient } from "bun";
import { errorMessage } from "../../lib/error-code.ts";
import { type TimeCall, untimed } from "../../lib/time-call.ts";
import { backgroundTimers, sleep, startTimeout, withTimeout } from "../../lib/timers.ts";
import { findPrimary, parseSentinelUrl } from "./sentinel.ts";

type RedisState =
  | { readonly isAvailable: true }
  | { readonly isAvailable: false; readonly reason: string };

export interface RedisOptions {
  /** redis:// or, with TLS, rediss://; redis+sentinel:// or rediss+sentinel:// with the addresses of sentinels. */
  readonly url: string;
  /** The longest time for one command, or for one attempt to connect. */
  readonly timeoutMs?: number;
  /**
   * Runs on each new connection before it is used. Default: a script that writes a key, since a server that is full,
   * read-only or forbids scripts cannot be used.
   */
  readonly prepare?: (client: RedisClient) => Promise<unknown>;
  /** Observes how long each command takes. */
  readonly timeCall?: TimeCall;
}

/** A Lua script, which runs atomically. */
export interface RedisScript {
  readonly text: string;
  /** The name under which Redis keeps the script. */
  readonly sha: string;
}

export const redisScript = (text: string): RedisScript => ({
  text,
  sha: createHash("sha1").update(text).digest("hex"),
});

export class RedisUnavailableError extends Error {
  override readonly name = "RedisUnavailableError";
}

/** The delay before the first attempt to reconnect, and the longest one: it doubles. */
const [firstReconnectMs, longestReconnectMs] = [100, 2000];

type StateListener = (state: RedisState) => void;

const writeCheck = "return redis.call('SET', KEYS[1], '1', 'PX', 1000)";
const checkWritable = (client: RedisClient): Promise<unknown> =>
  client.send("EVAL", [writeCheck, "1", "vexel:check"]);

export class RedisConnection {
  readonly #options: Required<RedisOptions>;
  readonly #listeners = new Set<StateListener>();
  readonly #firstAttempt = Promise.withResolvers<void>();
  #state: RedisState = { isAvailable: false, reason: "not connected yet" };
  /** Undefined while Redis is unavailable. */
  #client: RedisClient | undefined;
  readonly #closing = new AbortController();
  /** Resolves at the end of this turn of the event loop. */
  #endOfTurn: Promise<void> | undefined;

  constructor(options: RedisOptions) {
    this.#options = {
      timeoutMs: 1000,
      prepare: checkWritable,
      timeCall: untimed,
      ...options,
    };
    void this.#connect();
  }

  get state(): RedisState {
    return this.#state;
  }

  get isAvailable(): boolean {
    return this.#client !== undefined;
  }

  /** Resolves after the first attempt to connect, whether it succeeded or not. */
  attempted(): Promise<void> {
    return this.#firstAttempt.promise;
  }

  /** Calls the listener at each change, until the returned function is called. */
  onChange(listener: StateListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Rejects with RedisUnavailableError. */
  async run<T>(work: (client: RedisClient) => Promise<T>): Promise<T> {
    if (this.#client) await this.#turnEnded();
    const client = this.#client;
    if (!client) throw new RedisUnavailableError(reasonOf(this.#state));
    const { timeoutMs } = this.#options;
    // The client that is closed rejects its commands.
    const stop = startTimeout(timeoutMs, () => this.#lose(client, noResponse(timeoutMs)));
    try {
      return await this.#options.timeCall(() => work(client));
    } catch (error) {
      if (!isConnectionError(error)) throw error;
      this.#lose(client, errorMessage(error));
      throw new RedisUnavailableError(reasonOf(this.#state) || errorMessage(error), {
        cause: error,
      });
    } finally {
      stop();
    }
  }

  /** Runs a script by its name. Sends its text if Redis does not know it, for example after a restart. */
  async evaluate(
    { text, sha }: RedisScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args.map(String)];
    try {
      return await this.run((client) => client.send("EVALSHA", [sha, ...rest]));
    } catch (error) {
      if (!errorMessage(error).startsWith("NOSCRIPT")) throw error;
      return this.run((client) => client.send("EVAL", [text, ...rest]));
    }
  }

  /** Another connection to the same server, for subscriptions: they exclude other commands. */
  another(prepare: Required<RedisOptions>["prepare"]): RedisConnection {
    return new RedisConnection({ ...this.#options, prepare });
  }

  close(): void {
    this.#closing.abort();
    this.#client?.close();
    this.#client = undefined;
    this.#listeners.clear();
    this.#state = { isAvailable: false, reason: "the connection is closed" };
  }

  /**
   * One `RedisClient` per attempt: Bun's own reconnection gives up after some attempts, and a client whose handshake
   * failed stays unusable.
   */
  async #connect(): Promise<void> {
    let delayMs = firstReconnectMs;
    for (let attempt = 0; !this.#closing.signal.aborted; attempt++) {
      try {
        this.#client = await this.#open(await this.#serverUrl(attempt));
        this.#change({ isAvailable: true });
        return;
      } catch (error) {
        this.#change({ isAvailable: false, reason: connectReason(error) });
      } finally {
        this.#firstAttempt.resolve();
      }
      await sleep(delayMs, this.#closing.signal, backgroundTimers).catch(() => undefined);
      delayMs = Math.min(longestReconnectMs, delayMs * 2);
    }
  }

  async #open(url: string): Promise<RedisClient> {
    const client = this.#createClient(url);
    try {
      await this.#withTimeout(client.connect());
      client.onclose = (error) => this.#lose(client, errorMessage(error));
      await this.#withTimeout(this.#options.prepare(client));
      if (this.#closing.signal.aborted || !client.connected)
        throw new Error("the connection was closed");
      return client;
    } catch (error) {
      client.onclose = null;
      client.close();
      throw error;
    }
  }

  #serverUrl(attempt: number): Promise<string> | string {
    const { url } = this.#options;
    const group = parseSentinelUrl(url);
    if (!group) return url;
    return findPrimary(group, attempt, async (sentinel, command, args) => {
      const client = this.#createClient(sentinel);
      try {
        await this.#withTimeout(client.connect());
        return await this.#withTimeout(client.send(command, args));
      } finally {
        client.close();
      }
    });
  }

  #createClient(url: string): RedisClient {
    return new RedisClient(url, {
      autoReconnect: false,
      enableOfflineQueue: false,
      connectionTimeout: this.#options.timeoutMs,
    });
  }

  /** Stops using a connection, and connects again. */
  #lose(client: RedisClient, reason: string): void {
    client.onclose = null;
    if (this.#client !== client) return;
    this.#client = undefined;
    client.close();
    this.#change({ isAvailable: false, reason });
    void this.#connect();
  }

  #change(state: RedisState): void {
    if (this.#closing.signal.aborted) return;
    const wasAvailable = this.#state.isAvailable;
    this.#state = state;
    if (wasAvailable === state.isAvailable) return;
    for (const listener of this.#listeners) listener(state);
  }

  /** Bun's client writes after each callback, and each request of a client has a callback of its own. */
  #turnEnded(): Promise<void> {
    this.#endOfTurn ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#endOfTurn = undefined;
        resolve();
      });
    });
    return this.#endOfTurn;
  }

  async #withTimeout<T>(work: Promise<T>): Promise<T> {
    const { timeoutMs } = this.#options;
    const result = await withTimeout(
      work.then((value) => ({ value })),
      timeoutMs,
    );
    if (!result) throw new RedisUnavailableError(noResponse(timeoutMs));
    return result.value;
  }
}

const noResponse = (timeoutMs: number): string => `no response within ${timeoutMs} ms`;

const reasonOf = (state: RedisState): string => (state.isAvailable ? "" : state.reason);

/** Bun reports a refused connection, wrong credentials and a certificate that is not trusted alike. */
function connectReason(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  if (code !== "ERR_REDIS_CONNECTION_CLOSED") return errorMessage(error);
  return "the connection failed: check the address, the user and the password, and TLS (rediss:// and the certificate)";
}

/** Errors of a server that cannot be used at the moment: full, read-only, loading, without rights. */
const unusableServer =
  /^(OOM|READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|MISCONF|NOAUTH|NOPERM|BUSY|MOVED|NOREPLICAS)\b/;

function isConnectionError(error: unknown): boolean {
  if (error instanceof RedisUnavailableError) return true;
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code !== "string" || !code.startsWith("ERR_REDIS_")) return false;
  return code !== "ERR_REDIS_SERVER_ERROR" || unusableServer.test(errorMessage(error));
}
