/**
 * Stored responses that every replica can replay. A response is written to the data folder first, as without shared
 * storage, and copied to the shared storage when it is committed. While that is unreachable, only the replica that
 * stored a response replays it.
 */
import { randomUUID } from "node:crypto";
import type { ResponseStore, ResponseWriter, StoredResponse } from "./ports/response-store.ts";
import type { SharedResponses } from "./ports/shared-responses.ts";
import { isUnavailable } from "./unavailable.ts";

interface SharedResponseStoreOptions {
  /** The responses in the data folder. */
  readonly local: ResponseStore;
  readonly shared: SharedResponses;
  /** Milliseconds, monotonic: a wall clock that is set back would extend the backoff. */
  readonly clock: () => number;
  /** A response is in the data folder only, because the shared storage is unreachable. */
  readonly reportUnshared: (error: unknown) => void;
}

/** Backoff after an error of the shared storage, so that each image request does not run into the timeout. */
const pauseMs = 5000;

export class SharedResponseStore implements ResponseStore {
  readonly #options: SharedResponseStoreOptions;
  #pausedUntil = Number.NEGATIVE_INFINITY;

  constructor(options: SharedResponseStoreOptions) {
    this.#options = options;
  }

  ensureSpace(owner: string): void {
    this.#options.local.ensureSpace(owner);
  }

  begin(owner: string): ResponseWriter {
    const { local, shared, clock, reportUnshared } = this.#options;
    const writer = local.begin(owner);
    const id = randomUUID();
    let length: number | undefined;
    return {
      append: (chunk) => writer.append(chunk),
      commit: async (names, metadata) => {
        await writer.commit(names, metadata);
        try {
          length ??= await this.#copy(id, names);
          await shared.name(id, length, names, metadata);
        } catch (error) {
          // Also after other errors, such as a database that is read-only: the response is in the data folder, and a
          // response that is not stored would be billed again.
          if (isUnavailable(error)) this.#pausedUntil = clock() + pauseMs;
          reportUnshared(error);
        }
      },
      discard: () => writer.discard(),
    };
  }

  async find(name: string): Promise<StoredResponse | undefined> {
    const { local, shared, clock } = this.#options;
    if (clock() < this.#pausedUntil) return local.find(name);
    try {
      // The shared storage first: another replica may have stored a later response under this name.
      const found = await shared.find(name);
      const own = await local.find(name);
      // The same response is read from the data folder: the shared storage may fail while it is read.
      return found && found.requestId !== own?.requestId ? found : own;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      this.#pausedUntil = clock() + pauseMs;
      return local.find(name);
    }
  }

  async #copy(id: string, [name = ""]: readonly string[]): Promise<number> {
    const { local, shared } = this.#options;
    const stored = await local.find(name);
    if (!stored) throw new Error("a response that was just stored is not in the data folder");
    await shared.copy(id, stored);
    return stored.length;
  }
}
